/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traffic of another implementation, file by file as the table in test/vectors/README.md lists it:
 * frames, RoCE frames, opcodes and kinds of AETH are as many as it says; every RoCE frame decodes,
 * has the right ICRC, and encodes to the same bytes again.
 */
#include "check.h"
#include "wire_capture.h"
#include "wire_codec.h"

#include <dirent.h>

#define VECTORS "test/vectors/"
#define CELLS 6
#define MAX_FRAME_BYTES 5000

static const char *const aeth_kinds[] = {"ACK", "RNR_NAK", "RESERVED", "NAK"};

/* What was found in one file. */
struct tally {
    unsigned long frames, roce;
    unsigned long opcodes[256];
    unsigned long syndromes[256]; /* of those frames that have an AETH */
};

/* A line "| a | b | ... |" into its cells, blanks around them gone. @return how many. */
static size_t row_cells(char *line, char *cells[CELLS])
{
    size_t n = 0;

    for (char *cell = strtok(line, "|\n"); cell != NULL; cell = strtok(NULL, "|\n")) {
        size_t length;

        cell += strspn(cell, " ");
        length = strlen(cell);
        while (length > 0 && cell[length - 1] == ' ')
            cell[--length] = '\0';
        if (n < CELLS)
            cells[n] = cell;
        n++;
    }
    return n;
}

static size_t read_file(void *user, uint8_t *bytes, size_t n)
{
    return fread(bytes, 1, n, user);
}

/* A frame is RoCE in this table's sense when its UDP goes to port 4791; told without the codec. */
static bool is_roce(const uint8_t *bytes, size_t n)
{
    size_t udp = 14 + (n > 14 && bytes[12] == 0x08 && bytes[13] == 0x00 ? 20u : 40u);
    size_t protocol = udp == 34 ? 23 : 20;

    if (n < udp + 8 || (udp == 54 && !(bytes[12] == 0x86 && bytes[13] == 0xDD)))
        return false;
    return bytes[protocol] == 17 && bytes[udp + 2] == 4791 >> 8 && bytes[udp + 3] == (4791 & 255);
}

static void check_frame(const char *name, const struct wire_capture_frame *frame,
                        struct tally *tally)
{
    uint8_t again[MAX_FRAME_BYTES];
    struct wire_packet packet;
    enum wire_drop drop = wire_decode(frame->bytes, frame->captured_bytes, 0, &packet);
    size_t n;

    CHECK_EQ(frame->captured_bytes, frame->frame_bytes);
    CHECK(frame->timed && frame->time_digits == 6);
    tally->frames++;
    if (!is_roce(frame->bytes, frame->captured_bytes)) {
        CHECK(packet.kind == WIRE_KIND_OPAQUE);
        return;
    }
    if (drop != WIRE_DROP_NONE)
        fprintf(stderr, "%s: frame %lu: %s\n", name, tally->frames, wire_drop_text(drop));
    CHECK(drop == WIRE_DROP_NONE && packet.kind == WIRE_KIND_ROCE);
    n = wire_encode(&packet, again, sizeof(again));
    CHECK_EQ(n, frame->captured_bytes);
    CHECK_BYTES(again, frame->bytes, n);
    packet.icrc ^= 1; /* a wrong number would be noticed */
    CHECK_EQ(wire_encode(&packet, again, sizeof(again)), n);
    CHECK_EQ(wire_decode(again, n, 0, &packet), WIRE_DROP_ICRC);
    packet.icrc_auto = packet.ip_checksum_auto = true; /* and ours is theirs */
    CHECK_EQ(wire_encode(&packet, again, sizeof(again)), n);
    CHECK_BYTES(again, frame->bytes, n);
    tally->roce++;
    tally->opcodes[packet.opcode]++;
    if (wire_opcodes[packet.opcode].has & WIRE_HAS_AETH)
        tally->syndromes[packet.syndrome]++;
}

static void read_capture(const char *name, struct tally *tally)
{
    struct wire_capture_interface interface;
    struct wire_capture_frame frame;
    enum wire_capture_result result;
    struct wire_capture capture = {
        .read = read_file, .interfaces = &interface, .max_interfaces = 1};
    char path[256];

    snprintf(path, sizeof(path), VECTORS "%s", name);
    capture.user = fopen(path, "rb");
    capture.buffer = malloc(WIRE_CAPTURE_FRAME_BYTES);
    if (capture.user == NULL)
        fprintf(stderr, "%s does not open\n", path);
    CHECK(capture.user != NULL && capture.buffer != NULL);
    CHECK(wire_capture_open(&capture));
    while ((result = wire_capture_next(&capture, &frame)) == WIRE_CAPTURE_FRAME)
        check_frame(name, &frame, tally);
    CHECK_EQ(result, WIRE_CAPTURE_END);
    CHECK_EQ(capture.frames, tally->frames);
    free(capture.buffer);
    fclose(capture.user);
}

/* "NAME 5, OTHER 2": takes each off @p counts, which holds one number for each of 256 names. */
static void take_listed(const char *name, char *list, unsigned long counts[256],
                        void (*name_of)(unsigned index, char *text, size_t size))
{
    for (char *item = strtok(list, ","); item != NULL; item = strtok(NULL, ",")) {
        unsigned long wanted, found = 0;
        char *number, text[64];

        item += strspn(item, " ");
        number = strrchr(item, ' ');
        CHECK(number != NULL);
        *number = '\0';
        wanted = strtoul(number + 1, NULL, 10);
        for (unsigned i = 0; i < 256; i++) {
            name_of(i, text, sizeof(text));
            if (strcmp(text, item) == 0) {
                found += counts[i];
                counts[i] = 0;
            }
        }
        if (found != wanted)
            fprintf(stderr, "%s: %s\n", name, item);
        CHECK_EQ(found, wanted);
    }
    for (unsigned i = 0; i < 256; i++)
        CHECK_EQ(counts[i], 0); /* nothing that the table does not list */
}

static void opcode_name(unsigned index, char *text, size_t size)
{
    snprintf(text, size, "%s", wire_opcodes[index].name != NULL ? wire_opcodes[index].name : "");
}

/* As the table writes it: credits do not matter, codes and timers do. */
static void syndrome_name(unsigned index, char *text, size_t size)
{
    const char *kind = aeth_kinds[index >> 5 & 3];

    if (index >= 128)
        snprintf(text, size, "RESERVED");
    else if (index >> 5 == 0)
        snprintf(text, size, "%s", kind);
    else
        snprintf(text, size, "%s %s=%u", kind, index >> 5 == 1 ? "timer" : "code", index & 31);
}

/* Every row of the table; @return how many. */
static size_t check_table(void)
{
    FILE *table = fopen(VECTORS "README.md", "r");
    char line[1024], *cells[CELLS];
    size_t rows = 0;

    if (table == NULL)
        fprintf(stderr, "run this in the top folder: " VECTORS "README.md does not open\n");
    CHECK(table != NULL);
    while (fgets(line, sizeof(line), table) != NULL) {
        struct tally tally = {0};

        if (strncmp(line, "| ", 2) != 0 || strstr(line, ".pcap |") == NULL)
            continue;
        CHECK(strchr(line, '\n') != NULL);
        CHECK_EQ(row_cells(line, cells), CELLS);
        read_capture(cells[0], &tally);
        if (tally.frames != strtoul(cells[2], NULL, 10))
            fprintf(stderr, "%s:\n", cells[0]);
        CHECK_EQ(tally.frames, strtoul(cells[2], NULL, 10));
        CHECK_EQ(tally.roce, strtoul(cells[3], NULL, 10));
        take_listed(cells[0], cells[4], tally.opcodes, opcode_name);
        take_listed(cells[0], cells[5], tally.syndromes, syndrome_name);
        rows++;
    }
    fclose(table);
    return rows;
}

static void every_file_is_what_the_table_says(void)
{
    size_t rows = check_table(), files = 0;
    DIR *folder = opendir(VECTORS);

    CHECK(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        size_t length = strlen(entry->d_name);

        files += length > 5 && strcmp(entry->d_name + length - 5, ".pcap") == 0;
    }
    closedir(folder);
    CHECK(rows > 0);
    CHECK_EQ(rows, files); /* no file without a row */
}

CHECK_SUITE(capture, CHECK_CASE(every_file_is_what_the_table_says))
