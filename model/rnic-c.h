/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The C side of the module (wire, core, fabric, engine, live) for C++ files.
 */
#ifndef RNIC_C_H
#define RNIC_C_H

#include <cassert>
#include <cstddef>
#include <cstdint>

extern "C"
{
#include "engine.h"
#include "fabric_switch.h"
#include "live_line.h"
#include "rnic_cc.h"
#include "rnic_device.h"
#include "rnic_params.h"
#include "rnic_verbs.h"
#include "wire_addr.h"
#include "wire_codec.h"
#include "wire_frame.h"
#include "wire_param.h"
#include "wire_rng.h"
}

#endif /* RNIC_C_H */
