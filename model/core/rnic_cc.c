/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_cc.h"

#include <string.h>

const struct rnic_cc_ops *const rnic_cc_all[] = {&rnic_cc_none, &rnic_cc_dcqcn, NULL};

const struct rnic_cc_ops *rnic_cc_find(const char *name)
{
    WIRE_ASSERT(name);
    for (const struct rnic_cc_ops *const *ops = rnic_cc_all; *ops; ops++) {
        if (strcmp((*ops)->name, name) == 0)
            return *ops;
    }
    return NULL;
}
