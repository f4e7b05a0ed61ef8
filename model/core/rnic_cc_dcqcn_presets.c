/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * DCQCN as others have it: each preset is a list of values that differ from the paper's (which are
 * the defaults of the table), with the source of each.
 *
 * nvidia    the card's parameters as its vendor documents them; what it does at each step is told
 *           in public only through the simulator below, so the order of steps is that one's.
 * hpcc-sim  the HPCC simulator, rdma-hw.cc in Mellanox mode with run.py's "dcqcn" values.
 */
#include "rnic_cc.h"

#define WIRE_PARAM_STRUCT struct rnic_dcqcn_params
const struct wire_param rnic_dcqcn_param_table[] = {RNIC_DCQCN_PARAMS(WIRE_PARAM_ENTRY)};
const size_t rnic_dcqcn_param_count =
    sizeof rnic_dcqcn_param_table / sizeof rnic_dcqcn_param_table[0];

#define BEFORE 0 /* stage_counted */
#define AFTER 1
#define AFTER_INCREASE 1 /* clamp */

/* X(field, value, source); a field that is not named is 0 */
#define PRESET_NVIDIA(X)                                                                           \
    X(g, 5.0 / 1024, "dce_tcp_g 1019: alpha x 1019 / 1024")                                        \
    X(initial_alpha, 1023.0 / 1024, "initial_alpha_value 1023")                                    \
    X(alpha_bits, 10, "alpha is a 10-bit number")                                                  \
    X(alpha_timer_ps, 1000000, "dce_tcp_rtt 1 us")                                                 \
    X(cut_interval_ps, 4000000, "rate_reduce_monitor_period 4 us")                                 \
    X(increase_timer_ps, 300000000, "rpg_time_reset 300 us")                                       \
    X(byte_counter_bytes, 0,                                                                       \
      "off: rpg_byte_reset 32767 has no certain unit; write \"32767B\" or \"32767KB\" to use it")  \
    X(fast_recovery, 1, "rpg_threshold 1")                                                         \
    X(stage_counted, AFTER, "HPCC rdma-hw.cc: stage 1 is additive")                                \
    X(rai_bps, 5000000, "rpg_ai_rate 5 Mb/s")                                                      \
    X(rhai_bps, 50000000, "rpg_hai_rate 50 Mb/s")                                                  \
    X(hyper_scaled, 0, "HPCC rdma-hw.cc: R_HAI once")                                              \
    X(min_rate_bps, 1000000, "rpg_min_rate 1 Mb/s")                                                \
    X(clamp, AFTER_INCREASE, "clamp_tgt_rate 0, clamp_tgt_rate_after_time_inc 1")                  \
    X(rpg_gd, 11, "rpg_gd 11")                                                                     \
    X(min_dec_fac, 0.5, "rpg_min_dec_fac 50 %")

#define PRESET_HPCC_SIM(X)                                                                         \
    X(g, 1.0 / 256, "run.py: EWMA_GAIN 0.00390625")                                                \
    X(initial_alpha, 1.0, "rdma-hw.cc: 1 at the first CNP")                                        \
    X(alpha_bits, 31, "rdma-hw.cc: a double")                                                      \
    X(alpha_timer_ps, 1000000, "run.py: ALPHA_RESUME_INTERVAL 1 us")                               \
    X(cut_interval_ps, 4000000, "run.py: RATE_DECREASE_INTERVAL 4 us")                             \
    X(cut_offset_ps, 1000, "rdma-hw.cc: 1 ns, so that alpha is updated first")                     \
    X(increase_timer_ps, 300000000, "run.py: RP_TIMER 300 us")                                     \
    X(byte_counter_bytes, 0, "rdma-hw.cc: there is none")                                          \
    X(fast_recovery, 1, "run.py: FAST_RECOVERY_TIMES 1")                                           \
    X(stage_counted, AFTER, "rdma-hw.cc: rpTimeStage++ after the test")                            \
    X(rai_bps, 5000000, "run.py: 5 Mb/s x bw / 25")                                                \
    X(rhai_bps, 50000000, "run.py: 50 Mb/s x bw / 25")                                             \
    X(step_per_rate_bps, 25000000000, "run.py: bw / 25")                                           \
    X(hyper_scaled, 0, "rdma-hw.cc: R_HAI once")                                                   \
    X(min_rate_bps, 1000000000, "run.py: MIN_RATE 1000 Mb/s")                                      \
    X(clamp, AFTER_INCREASE, "EcnClampTgtRate false: only when rpTimeStage is not 0")              \
    X(rpg_gd, 11, "rdma-hw.cc: rate x (1 - alpha / 2)")

#define PRESET_FIELD(field, value, source) .field = (value),
#define PRESET_VALUE(field, value, source) {#field, (double)(value), source},
#define PRESET_DEFAULT(field, unit, def, min, max, source, text, names) .field = (def),

static const struct rnic_dcqcn_preset_value values_paper[] = {{.field = NULL}};
static const struct rnic_dcqcn_preset_value values_nvidia[] = {
    PRESET_NVIDIA(PRESET_VALUE){.field = NULL}};
static const struct rnic_dcqcn_preset_value values_hpcc_sim[] = {
    PRESET_HPCC_SIM(PRESET_VALUE){.field = NULL}};

const struct rnic_dcqcn_preset rnic_dcqcn_presets[] = {
    {.name = "paper-2015",
     .text = "DCQCN15, deployment values at 40G",
     .params = {RNIC_DCQCN_PARAMS(PRESET_DEFAULT)},
     .cnp_interval_ps = 50000000,
     .cnp_source = "DCQCN15 sec. 3: N = 50 us",
     .values = values_paper},
    {.name = "nvidia",
     .text = "the vendor's default values",
     .params = {PRESET_NVIDIA(PRESET_FIELD)},
     .cnp_interval_ps = 4000000,
     .cnp_source = "min_time_between_cnps 4 us",
     .values = values_nvidia},
    {.name = "hpcc-sim",
     .text = "HPCC simulator, Mellanox mode",
     .params = {PRESET_HPCC_SIM(PRESET_FIELD)},
     .cnp_interval_ps = 0,
     .cnp_source = "rdma-hw.cc: every ACK echoes its packet's mark",
     .values = values_hpcc_sim},
    {.name = NULL},
};
