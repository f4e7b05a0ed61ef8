/* SPDX-License-Identifier: GPL-2.0-only */
#include "engine.h"

#define WIRE_PARAM_STRUCT struct engine_link_params
const struct wire_param engine_link_param_table[] = {ENGINE_LINK_PARAMS(WIRE_PARAM_ENTRY)};
const size_t engine_link_param_count =
    sizeof engine_link_param_table / sizeof engine_link_param_table[0];
