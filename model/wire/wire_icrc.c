/* SPDX-License-Identifier: GPL-2.0-only */
#include "wire_icrc.h"
#include "wire_bytes.h"

#include <string.h>

/*
 * Sixteen bytes a step: table k holds the CRC of a byte that k zero bytes follow. A CRC is linear,
 * so an entry is the XOR of its bits' entries, and those 128 constants are one sequence: the
 * polynomial, shifted one bit further each time. The compiler makes the tables from them.
 */
#define BIT(i, b, v) ((i) & (1u << (b)) ? (v) : 0u)
#define ROW(i, b7, b6, b5, b4, b3, b2, b1, b0)                                                     \
    (BIT(i, 7, b7) ^ BIT(i, 6, b6) ^ BIT(i, 5, b5) ^ BIT(i, 4, b4) ^ BIT(i, 3, b3) ^               \
     BIT(i, 2, b2) ^ BIT(i, 1, b1) ^ BIT(i, 0, b0))
#define ROWS4(i, ...)                                                                              \
    ROW(i, __VA_ARGS__), ROW((i) + 1u, __VA_ARGS__), ROW((i) + 2u, __VA_ARGS__),                   \
        ROW((i) + 3u, __VA_ARGS__)
#define ROWS16(i, ...)                                                                             \
    ROWS4(i, __VA_ARGS__), ROWS4((i) + 4u, __VA_ARGS__), ROWS4((i) + 8u, __VA_ARGS__),             \
        ROWS4((i) + 12u, __VA_ARGS__)
#define ROWS64(i, ...)                                                                             \
    ROWS16(i, __VA_ARGS__), ROWS16((i) + 16u, __VA_ARGS__), ROWS16((i) + 32u, __VA_ARGS__),        \
        ROWS16((i) + 48u, __VA_ARGS__)
#define TABLE(...)                                                                                 \
    {                                                                                              \
        ROWS64(0u, __VA_ARGS__), ROWS64(64u, __VA_ARGS__), ROWS64(128u, __VA_ARGS__),              \
            ROWS64(192u, __VA_ARGS__)                                                              \
    }

static const uint32_t icrc_table[16][256] = {
    TABLE(0xEDB88320u, 0x76DC4190u, 0x3B6E20C8u, 0x1DB71064u, 0x0EDB8832u, 0x076DC419u, 0xEE0E612Cu,
          0x77073096u),
    TABLE(0x3B83984Bu, 0xF0794F05u, 0x958424A2u, 0x4AC21251u, 0xC8D98A08u, 0x646CC504u, 0x32366282u,
          0x191B3141u),
    TABLE(0xE1351B80u, 0x709A8DC0u, 0x384D46E0u, 0x1C26A370u, 0x0E1351B8u, 0x0709A8DCu, 0x0384D46Eu,
          0x01C26A37u),
    TABLE(0xED59B63Bu, 0x9B14583Du, 0xA032AF3Eu, 0x5019579Fu, 0xC5B428EFu, 0x8F629757u, 0xAA09C88Bu,
          0xB8BC6765u),
    TABLE(0xB1E6B092u, 0x58F35849u, 0xC1C12F04u, 0x60E09782u, 0x30704BC1u, 0xF580A6C0u, 0x7AC05360u,
          0x3D6029B0u),
    TABLE(0x1EB014D8u, 0x0F580A6Cu, 0x07AC0536u, 0x03D6029Bu, 0xEC53826Du, 0x9B914216u, 0x4DC8A10Bu,
          0xCB5CD3A5u),
    TABLE(0x8816EAF2u, 0x440B7579u, 0xCFBD399Cu, 0x67DE9CCEu, 0x33EF4E67u, 0xF44F2413u, 0x979F1129u,
          0xA6770BB4u),
    TABLE(0x533B85DAu, 0x299DC2EDu, 0xF9766256u, 0x7CBB312Bu, 0xD3E51BB5u, 0x844A0EFAu, 0x4225077Du,
          0xCCAA009Eu),
    TABLE(0x6655004Fu, 0xDE920307u, 0x82F182A3u, 0xACC04271u, 0xBBD8A218u, 0x5DEC510Cu, 0x2EF62886u,
          0x177B1443u),
    TABLE(0xE6050901u, 0x9EBA07A0u, 0x4F5D03D0u, 0x27AE81E8u, 0x13D740F4u, 0x09EBA07Au, 0x04F5D03Du,
          0xEFC26B3Eu),
    TABLE(0x77E1359Fu, 0xD64819EFu, 0x869C8FD7u, 0xAEF6C4CBu, 0xBAC3E145u, 0xB0D97382u, 0x586CB9C1u,
          0xC18EDFC0u),
    TABLE(0x60C76FE0u, 0x3063B7F0u, 0x1831DBF8u, 0x0C18EDFCu, 0x060C76FEu, 0x03063B7Fu, 0xEC3B9E9Fu,
          0x9BA54C6Fu),
    TABLE(0xA06A2517u, 0xBD8D91ABu, 0xB37E4BF5u, 0xB407A6DAu, 0x5A03D36Du, 0xC0B96A96u, 0x605CB54Bu,
          0xDD96D985u),
    TABLE(0x8373EFE2u, 0x41B9F7F1u, 0xCD6478D8u, 0x66B23C6Cu, 0x33591E36u, 0x19AC8F1Bu, 0xE16EC4ADu,
          0x9D0FE176u),
    TABLE(0x4E87F0BBu, 0xCAFB7B7Du, 0x88C53E9Eu, 0x44629F4Fu, 0xCF89CC87u, 0x8A7C6563u, 0xA886B191u,
          0xB9FBDBE8u),
    TABLE(0x5CFDEDF4u, 0x2E7EF6FAu, 0x173F7B7Du, 0xE6273E9Eu, 0x73139F4Fu, 0xD4314C87u, 0x87A02563u,
          0xAE689191u),
};

/* CRC of four bytes that k more of the same step follow. */
static inline uint32_t icrc_word(uint32_t x, unsigned k)
{
    return icrc_table[k + 3][x & 0xFF] ^ icrc_table[k + 2][x >> 8 & 0xFF] ^
           icrc_table[k + 1][x >> 16 & 0xFF] ^ icrc_table[k][x >> 24];
}

uint32_t wire_icrc_update(uint32_t state, const uint8_t *bytes, size_t n)
{
    WIRE_ASSERT(bytes != NULL || n == 0);
    for (; n >= 16; n -= 16, bytes += 16) {
        uint32_t ahead = icrc_word(wire_bytes_get32_le(bytes + 4), 8) ^
                         icrc_word(wire_bytes_get32_le(bytes + 8), 4) ^
                         icrc_word(wire_bytes_get32_le(bytes + 12), 0);

        /* The only word that waits for the step before: last, or every step takes longer. */
        state = ahead ^ icrc_word(wire_bytes_get32_le(bytes) ^ state, 12);
    }
    if (n >= 8) {
        state = icrc_word(wire_bytes_get32_le(bytes + 4), 0) ^
                icrc_word(wire_bytes_get32_le(bytes) ^ state, 4);
        bytes += 8;
        n -= 8;
    }
    for (; n > 0; n--, bytes++)
        state = icrc_table[0][(state ^ *bytes) & 0xFF] ^ state >> 8;
    return state;
}

#define IPV4_BYTES 20u
#define IPV6_BYTES 40u
#define UDP_BYTES 8u
#define BTH_BYTES 12u

uint32_t wire_icrc(const uint8_t *ip, size_t n)
{
    uint8_t masked[IPV6_BYTES + UDP_BYTES + BTH_BYTES];
    bool v4 = ip[0] >> 4 == 4;
    bool grh = !v4 && ip[6] == 0x1B;
    size_t network = v4 ? IPV4_BYTES : IPV6_BYTES;
    size_t bth = network + (grh ? 0 : UDP_BYTES);
    size_t headers = bth + BTH_BYTES;
    uint32_t state;

    WIRE_ASSERT(v4 || ip[0] >> 4 == 6);
    WIRE_ASSERT(n >= headers);
    memcpy(masked, ip, headers);
    if (v4) {
        masked[1] = 0xFF;               /* type of service */
        masked[8] = 0xFF;               /* time to live */
        masked[10] = masked[11] = 0xFF; /* header checksum */
    } else {
        masked[0] |= 0x0F; /* traffic class and flow label */
        masked[1] = masked[2] = masked[3] = 0xFF;
        masked[7] = 0xFF; /* hop limit */
    }
    if (!grh)
        masked[network + 6] = masked[network + 7] = 0xFF; /* UDP checksum */
    masked[bth + 4] = 0xFF;                               /* FECN, BECN, resv6 */

    state = wire_icrc_update(WIRE_ICRC_SEED, masked, headers);
    return ~wire_icrc_update(state, ip + headers, n - headers);
}
