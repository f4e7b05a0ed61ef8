/* SPDX-License-Identifier: GPL-2.0-only */
/* rnic-play: the cards, the verbs that their hosts call, and their memory. */
#include "rnic-play.h"

#define FIRST_RECV 101u   /* wr_id of the first receive request */
#define AHEAD_BYTES 64u   /* of the SEND ahead of a READ or an atomic with --rnr */
#define ATOMIC_START 100u /* what host b's memory holds before the first atomic */
#define ATOMIC_ADD 5u     /* FETCH_ADD adds it, COMPARE_SWAP doubles what is there */
#define QUEUE_DEPTH 128u  /* of send and receive queue */

static void feed(struct play_host *host, size_t bytes)
{
    size_t wanted = (bytes + 65536 + 63) & ~(size_t)63;

    if (host->n_blocks == PLAY_MAX_BLOCKS)
        play_die("a card asks for more memory than it can need");
    host->blocks[host->n_blocks] = play_need(aligned_alloc(64, wanted));
    rnic_mem_give(host->dev, host->blocks[host->n_blocks++], wanted);
}

/* Call a verb until it has the memory it asks for; nothing else may go wrong here. */
#define VERB(host, call)                                                                           \
    do                                                                                             \
    {                                                                                              \
        int error;                                                                                 \
                                                                                                   \
        while ((error = (call)) == RNIC_ERR_NOMEM)                                                 \
            feed(host, rnic_mem_wanted((host)->dev));                                              \
        if (error < 0)                                                                             \
            play_die("%s: %s", #call, rnic_err_name(error));                                       \
    } while (0)

void play_host_open(struct play *play, uint32_t face)
{
    const struct play_options *options = &play->options;
    struct play_host *host = &play->hosts[face];
    struct rnic_config config = {.params = rnic_params_default(),
                                 .cc = &rnic_cc_none,
                                 .cc_config = {.line_bps = options->rate_bps},
                                 .station = face};
    size_t memory_bytes = (size_t)play->stride * options->n + AHEAD_BYTES;
    size_t device_bytes = (rnic_device_bytes() + 63) & ~(size_t)63;
    unsigned access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |
                      RNIC_ACCESS_REMOTE_ATOMIC;

    config.params.ack_every = options->ack_every;
    wire_param_defaults(rnic_dcqcn_param_table, rnic_dcqcn_param_count, &config.cc_config.dcqcn);
    host->blocks[host->n_blocks++] = play_need(aligned_alloc(64, device_bytes));
    host->dev = play_need(rnic_device_init(host->blocks[0], &config));
    host->memory = play_need(calloc(1, memory_bytes));
    host->pcap = options->pcap != NULL ? play_tell_pcap_new() : NULL;
    VERB(host, rnic_alloc_pd(host->dev, &host->pd, 0));
    for (unsigned i = 0; i < 2; i++)
        VERB(host, rnic_create_cq(host->dev, 2 * QUEUE_DEPTH, &host->cqs[i], 0));
    VERB(host, rnic_reg_mr(host->dev, host->pd, PLAY_VA, memory_bytes, host->memory, access,
                           &host->key, 0));
    VERB(host, rnic_create_qp(
                   host->dev,
                   &(struct rnic_qp_init_attr){.type = RNIC_QPT_RC,
                                               .pd = host->pd,
                                               .send_cq = host->cqs[0],
                                               .recv_cq = host->cqs[1],
                                               .max_send_wr = QUEUE_DEPTH,
                                               .max_recv_wr = QUEUE_DEPTH,
                                               .max_send_sge = 1,
                                               .max_recv_sge = 1,
                                               .sq_sig_all = true,
                                               .recovery = (enum rnic_recovery)options->recovery,
                                               .window_bytes = (uint32_t)options->window},
                   &host->qpn, 0));
    rnic_trace_enable(host->dev, 1u << RNIC_EVENT_PLACED | 1u << RNIC_EVENT_COMPLETION |
                                     1u << RNIC_EVENT_PASSAGE);
}

void play_host_connect(struct play *play, uint32_t face)
{
    static const unsigned masks[] = {
        [RNIC_QPS_INIT] = RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS,
        [RNIC_QPS_RTR] = RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN |
                         RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER,
        [RNIC_QPS_RTS] = RNIC_QP_SQ_PSN | RNIC_QP_MAX_QP_RD_ATOMIC | RNIC_QP_RETRY_CNT |
                         RNIC_QP_RNR_RETRY | RNIC_QP_TIMEOUT,
    };
    const struct play_options *options = &play->options;
    const struct rnic_params params = rnic_params_default();
    struct play_host *host = &play->hosts[face];
    struct rnic_qp_attr attr = {.qp_access_flags = RNIC_ACCESS_REMOTE_WRITE |
                                                   RNIC_ACCESS_REMOTE_READ |
                                                   RNIC_ACCESS_REMOTE_ATOMIC,
                                .port_num = 1,
                                .av = {.dest_station = 1 - face,
                                       .next_hop = 1 - face,
                                       .traffic_class = (uint8_t)(params.dscp << 2),
                                       .hop_limit = (uint8_t)params.ttl},
                                .path_mtu_bytes = (uint32_t)options->mtu,
                                .dest_qp_num = play->hosts[1 - face].qpn,
                                .rq_psn = {(uint32_t)options->psn},
                                .sq_psn = {(uint32_t)options->psn},
                                .timeout = (uint8_t)options->timeout,
                                .retry_cnt = (uint8_t)options->retry_cnt,
                                .rnr_retry = (uint8_t)options->rnr_retry,
                                .min_rnr_timer = (uint8_t)params.min_rnr_timer,
                                .max_rd_atomic = 16,
                                .max_dest_rd_atomic = 16};

    for (unsigned state = RNIC_QPS_INIT; state <= RNIC_QPS_RTS; state++)
    {
        attr.qp_state = (enum rnic_qp_state)state;
        VERB(host, rnic_modify_qp(host->dev, host->qpn, &attr, RNIC_QP_STATE | masks[state], 0));
    }
    host->state = RNIC_QPS_RTS;
}

bool play_host_sends_ahead(const struct play_options *options)
{
    return options->rnr > 0 && (options->op == PLAY_READ || options->op == PLAY_ATOMIC);
}

static void post_recv(struct play *play, uint64_t wr_id, uint64_t offset, uint64_t bytes)
{
    struct play_host *host = &play->hosts[1];
    bool bad_key = play->options.bad_key && play->options.op == PLAY_SEND;
    struct rnic_sge sge = {
        .addr = PLAY_VA + offset, .length = (uint32_t)bytes, .lkey = host->key + (bad_key ? 1 : 0)};
    struct rnic_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

    VERB(host, rnic_post_recv(host->dev, host->qpn, &wr, play->now_ps));
    play_tell(play, 1, "post_recv");
    play_tell_number(play, "wr", wr_id);
    play_tell_number(play, "bytes", bytes);
    play_tell_number(play, "offset", offset);
    play_tell_number(play, "bad_key", bad_key);
    play_tell_end(play);
}

/* All receive requests that host b's messages use up. */
void play_host_post_recvs(struct play *play)
{
    const struct play_options *options = &play->options;

    play->recv_ps = WIRE_NEVER;
    if (play_host_sends_ahead(options))
        post_recv(play, FIRST_RECV, play->stride * options->n, AHEAD_BYTES);
    else
        for (uint32_t i = 0; i < options->n; i++)
            post_recv(play, FIRST_RECV + i, (uint64_t)i * play->stride, options->bytes);
    play_tell_visible(play, 1);
}

static void post_send(struct play *play, enum rnic_wr_opcode opcode, uint64_t offset,
                      uint64_t bytes)
{
    static const char *const names[] = {"WRITE", "WRITE_WITH_IMM", "SEND",     "SEND_WITH_IMM",
                                        "READ",  "COMPARE_SWAP",   "FETCH_ADD"};
    struct play_host *host = &play->hosts[0];
    struct rnic_sge sge = {.addr = PLAY_VA + offset, .length = (uint32_t)bytes, .lkey = host->key};
    struct rnic_send_wr wr = {.wr_id = ++play->messages,
                              .opcode = opcode,
                              .imm = 7000 + play->messages,
                              .rkey = play->hosts[1].key + (play->options.bad_key ? 1 : 0),
                              .remote_addr = PLAY_VA + offset,
                              .sg_list = &sge,
                              .num_sge = 1};
    bool swap = opcode == RNIC_WR_ATOMIC_CMP_AND_SWP;
    bool atomic = swap || opcode == RNIC_WR_ATOMIC_FETCH_AND_ADD;
    bool send = opcode == RNIC_WR_SEND;

    if (atomic) /* all on one value: each knows what those before leave there */
    {
        uint64_t value = ATOMIC_START;

        for (uint32_t i = 0; i < offset / 8; i++)
            value = i % 2 == 0 ? value + ATOMIC_ADD : 2 * value;
        wr.remote_addr = PLAY_VA;
        wr.atomic.compare_add = swap ? value : ATOMIC_ADD;
        wr.atomic.swap = 2 * value;
    }
    VERB(host, rnic_post_send(host->dev, host->qpn, &wr, play->now_ps));
    play_tell(play, 0, "post_send");
    play_tell_number(play, "wr", wr.wr_id);
    play_tell_text(play, "op", names[opcode]);
    play_tell_number(play, "bytes", bytes);
    play_tell_number(play, "offset", offset);
    if (!send)
        play_tell_number(play, "bad_key", play->options.bad_key);
    if (atomic)
        play_tell_number(play, "compare_add", wr.atomic.compare_add);
    if (swap)
        play_tell_number(play, "swap", wr.atomic.swap);
    if (opcode == RNIC_WR_RDMA_WRITE_WITH_IMM)
        play_tell_number(play, "imm", wr.imm);
    play_tell_end(play);
}

void play_host_post_sends(struct play *play)
{
    const struct play_options *options = &play->options;

    if (play_host_sends_ahead(options))
        post_send(play, RNIC_WR_SEND, play->stride * options->n, AHEAD_BYTES);
    for (uint32_t i = 0; i < options->n; i++)
        switch (options->op)
        {
        case PLAY_SEND:
            post_send(play, RNIC_WR_SEND, (uint64_t)i * play->stride, options->bytes);
            break;
        case PLAY_WRITE:
            post_send(play, options->rnr > 0 ? RNIC_WR_RDMA_WRITE_WITH_IMM : RNIC_WR_RDMA_WRITE,
                      (uint64_t)i * play->stride, options->bytes);
            break;
        case PLAY_READ:
            post_send(play, RNIC_WR_RDMA_READ, (uint64_t)i * play->stride, options->bytes);
            break;
        case PLAY_ATOMIC:
        case PLAY_OPS:
        default:
            post_send(play, i % 2 == 0 ? RNIC_WR_ATOMIC_FETCH_AND_ADD : RNIC_WR_ATOMIC_CMP_AND_SWP,
                      (uint64_t)i * 8, 8);
        }
    play_tell_visible(play, 0);
}

/* ---- memory ---- */

uint64_t play_host_value(const struct play_host *host, uint64_t va)
{
    uint64_t value;

    memcpy(&value, host->memory + (va - PLAY_VA), sizeof value);
    return value;
}

/* Bytes of message i where it comes from and where it goes to; all of the first are not 0. */
void play_host_fill(struct play *play)
{
    struct play_host *from = &play->hosts[play->options.op == PLAY_READ ? 1 : 0];
    uint64_t value = ATOMIC_START;

    if (play->options.op == PLAY_ATOMIC)
        memcpy(play->hosts[1].memory, &value, sizeof value);
    else
        for (size_t i = 0; i < (size_t)play->stride * play->options.n; i++)
            from->memory[i] = (uint8_t)(1 + (i * 31 + i / 251) % 255);
}

void play_host_tell_memory(struct play *play)
{
    const struct play_options *options = &play->options;
    bool read = options->op == PLAY_READ;
    uint64_t whole = 0, untouched = 0;

    for (uint64_t i = 0; i < options->n; i++)
    {
        const uint8_t *from = play->hosts[read ? 1 : 0].memory + i * play->stride;
        const uint8_t *to = play->hosts[read ? 0 : 1].memory + i * play->stride;
        bool same = memcmp(from, to, options->bytes) == 0, zero = true;

        for (uint64_t at = 0; at < options->bytes; at++)
            zero = zero && to[at] == 0;
        whole += same;
        untouched += zero && options->bytes > 0;
    }
    play_tell(play, read ? 0 : 1, "memory");
    if (options->op == PLAY_ATOMIC)
        play_tell_number(play, "value", play_host_value(&play->hosts[1], PLAY_VA));
    else
    {
        play_tell_number(play, "messages", options->n);
        play_tell_number(play, "whole", whole);
        play_tell_number(play, "untouched", untouched);
    }
    play_tell_end(play);
}

void play_host_close(struct play_host *host)
{
    for (uint32_t i = 0; i < host->n_blocks; i++)
        free(host->blocks[i]);
    free(host->memory);
    free(host->sent);
    if (host->pcap != NULL)
        fclose(host->pcap);
}
