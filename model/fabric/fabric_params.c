/* SPDX-License-Identifier: GPL-2.0-only */
#include "fabric_switch.h"

#define WIRE_PARAM_STRUCT struct fabric_params

const struct wire_param fabric_param_table[] = {FABRIC_PARAMS(WIRE_PARAM_ENTRY)};
const size_t fabric_param_count = sizeof(fabric_param_table) / sizeof(fabric_param_table[0]);
