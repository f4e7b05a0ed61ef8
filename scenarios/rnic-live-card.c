/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rnic-live: the card. All its latencies are 0, since this program's own are far longer; a line is
 * as fast as the socket takes frames.
 */
#include "rnic-live.h"

#define LINE_BPS 100000000000u
#define PAYLOAD_BYTES 4096u /* slot of a frame to be sent */
#define BURST_FRAMES 64u    /* sent before the next look at what has arrived */

static void feed(struct live_card *card, size_t bytes)
{
    size_t wanted = (bytes + 65536 + 63) & ~(size_t)63;

    card->blocks = live_need(realloc(card->blocks, (card->n_blocks + 1) * sizeof card->blocks[0]));
    card->blocks[card->n_blocks] = live_need(aligned_alloc(64, wanted));
    rnic_mem_give(card->dev, card->blocks[card->n_blocks++], wanted);
}

void live_card_feed(struct live *live)
{
    feed(&live->card, rnic_mem_wanted(live->card.dev));
}

static struct wire_frame *blank(struct live_card *card)
{
    struct wire_frame *frame = card->pool;

    if (frame != NULL)
    {
        card->pool = frame->next;
        return frame;
    }
    card->frames =
        live_need(realloc(card->frames, (card->n_frames + 1) * sizeof(struct wire_frame *)));
    frame = live_need(calloc(1, sizeof *frame));
    frame->payload = live_need(malloc(PAYLOAD_BYTES));
    card->frames[card->n_frames++] = frame;
    return frame;
}

static void give_back(struct live_card *card, struct wire_frame *frame)
{
    frame->next = card->pool;
    card->pool = frame;
}

void live_card_open(struct live *live)
{
    struct live_card *card = &live->card;
    struct rnic_config config = {.params = rnic_params_ideal(),
                                 .cc = &rnic_cc_none,
                                 .cc_config = {.line_bps = LINE_BPS},
                                 .book = &live->book.wire};
    size_t device_bytes = (rnic_device_bytes() + 63) & ~(size_t)63;

    config.params.max_in_flight = live->options.in_flight;
    config.params.ack_every = live->options.ack_every;
    config.params.max_rd_atomic = 128;
    wire_param_defaults(rnic_dcqcn_param_table, rnic_dcqcn_param_count, &config.cc_config.dcqcn);
    card->blocks = live_need(malloc(sizeof card->blocks[0]));
    card->blocks[card->n_blocks++] = live_need(aligned_alloc(64, device_bytes));
    card->dev = live_need(rnic_device_init(card->blocks[0], &config));
    card->in.payload = live_need(malloc(LIVE_LINE_FRAME_BYTES));
}

/* Frames of others: no business of the card. */
static bool is_other(enum wire_drop drop)
{
    return drop == WIRE_DROP_ETHERTYPE || drop == WIRE_DROP_IP_PROTOCOL ||
           drop == WIRE_DROP_UDP_PORT || drop == WIRE_DROP_IP_FRAGMENT ||
           drop == WIRE_DROP_IP_VERSION;
}

void live_card_take(struct live *live, const uint8_t *bytes, size_t n)
{
    struct live_card *card = &live->card;
    struct wire_frame *frame = &card->in;
    enum wire_drop drop = wire_frame_decode(frame, &live->book.wire, bytes, n, true);

    if (drop == WIRE_DROP_ADDRESS && live_book_learn_roce(live, bytes, n))
        drop = wire_frame_decode(frame, &live->book.wire, bytes, n, true);
    if (is_other(drop))
    {
        card->other++;
        live_address_take(live, bytes, n);
        return;
    }
    if (drop != WIRE_DROP_NONE || frame->kind != WIRE_KIND_ROCE)
    {
        card->refused[drop]++;
        return;
    }
    live_book_face(live, frame->flags & WIRE_FRAME_IPV6);
    (void)rnic_rx(card->dev, frame, live->now_ps);
}

/* One frame off the card. @return false: none now */
static bool pull(struct live *live)
{
    struct live_card *card = &live->card;
    uint8_t bytes[WIRE_MAX_HEADER_BYTES + PAYLOAD_BYTES + 64];
    struct wire_frame *frame = blank(card), *spare = NULL;
    bool pulled = rnic_tx(card->dev, live->now_ps, 0xFF, &frame, &spare);
    size_t n;

    if (spare != NULL)
        give_back(card, spare);
    if (!pulled)
    {
        if (frame != NULL)
            give_back(card, frame);
        return false;
    }
    live_book_face(live, frame->flags & WIRE_FRAME_IPV6);
    n = wire_frame_encode(frame, &live->book.wire, bytes, sizeof bytes);
    give_back(card, frame);
    if (n > 0)
        live_fault_pass(live, LIVE_OUT, bytes, n);
    return true;
}

void live_card_run(struct live *live)
{
    struct rnic_device *dev = live->card.dev;

    if (rnic_next_wake(dev) <= live->now_ps)
        rnic_wake(dev, live->now_ps);
    for (unsigned i = 0; i < BURST_FRAMES && live->port.line.waiting == NULL; i++)
        if (rnic_tx_next(dev, 0xFF) > live->now_ps || !pull(live))
            break;
}

uint64_t live_card_next(const struct live *live)
{
    uint64_t next_ps = rnic_next_wake(live->card.dev);

    if (live->port.line.waiting != NULL) /* the MAC is not free */
        return next_ps;
    return wire_min_ps(next_ps, rnic_tx_next(live->card.dev, 0xFF));
}

void live_card_close(struct live *live)
{
    struct live_card *card = &live->card;

    for (size_t i = 0; i < card->n_blocks; i++)
        free(card->blocks[i]);
    free(card->blocks);
    for (uint32_t i = 0; i < LIVE_OBJECTS; i++)
        free(card->objects[LIVE_MR][i].bytes);
    free(card->in.payload);
    for (size_t i = 0; i < card->n_frames; i++)
    {
        free(card->frames[i]->payload);
        free(card->frames[i]);
    }
    free(card->frames);
}
