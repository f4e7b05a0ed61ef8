/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Known answers of the wire, as hex text with what each field must be. Where one comes from stands
 * beside it: public test suites and a capture of real hardware first, then packets calculated for
 * this project (with zlib and bit by bit). The ICRC stands in wire order.
 */
#ifndef WIRE_VECTORS_H
#define WIRE_VECTORS_H

#include "wire_frame.h"

/* clang-format off */
enum wire_vector_layer { WIRE_VECTOR_ETHERNET, WIRE_VECTOR_IP };

struct wire_vector {
    const char *name, *source;
    enum wire_vector_layer layer; /* of the first byte */
    uint32_t icrc;                /* its four bytes as they stand on the wire, read big-endian */
    uint8_t opcode;
    unsigned bth_flags;
    int pad;
    unsigned pkey;
    uint32_t dest_qpn;
    wire_psn psn;
    uint32_t payload_bytes;
    const char *hex;
};

static const struct wire_vector wire_vectors[] = {
    {"KAV1", "scapy test/contrib/roce.uts, RoCE layer", WIRE_VECTOR_ETHERNET, 0x78f353f3u,
     0x24, WIRE_BTH_MIG, 2, 0xFFFF, 0xD3, {0xCF1710}, 18,
     "248a07a8fa22248a07a8fa22080045010040047840004011b4d5c0a80007c0a8"
     "0007c00012b7002caca22460ffff000000d300cf17104630818be28935d90e9a"
     "95505401be885e50000078f353f3"},
    {"KAV2", "scapy roce.uts, CNP captured on ConnectX-4 Lx", WIRE_VECTOR_ETHERNET, 0x82fd002au,
     0x81, WIRE_BTH_BECN, 0, 0xFFFF, 0x118, {0x000000}, 0,
     "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a00"
     "1201000012b7002800008100ffff400001180000000000000000000000000000"
     "00000000000082fd002a"},
    {"KAV4", "roomsoc packet_codec tests, driver capture", WIRE_VECTOR_ETHERNET, 0xca47470eu,
     0x0A, 0, 0, 0xFFFF, 0x2, {0x000000}, 16,
     "123456789abc7cb27d62c1ef08004500004c000100004011f54cc0a80201c0a8"
     "020201f412b70038ffa60a00ffff000000020000000000000000000012300000"
     "000000000010000102030405060708090a0b0c0d0e0fca47470e"},
    {"KAV5", "roomsoc packet_codec tests, driver capture", WIRE_VECTOR_ETHERNET, 0x6e0f71eau,
     0x0C, 0, 0, 0xFFFF, 0x2, {0x000000}, 0,
     "123456789abc7cb27d62c1ef08004500003c000100004011f55cc0a80201c0a8"
     "020201f412b7002867630c00ffff000000020000000000000000000012300000"
     "0000000000106e0f71ea"},
    {"KAV6", "open-rdma-driver packet_processor.rs, test_computing_icrc, first",
     WIRE_VECTOR_IP, 0xc6872298u,
     0x0A, WIRE_BTH_SE | WIRE_BTH_ACKREQ, 0, 0x0000, 0x2, {0x000000}, 128,
     "450000bc000100004011f8dac0a80002c0a8000312b712b700a800000a800000"
     "000000028000000000007f7e9100000001709a3300000080ffffffffffffffff"
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
     "ffffffffffffffffffffffffffffffffffffffffffffffffc6872298"},
    {"D1", "derived: UD SEND_ONLY", WIRE_VECTOR_ETHERNET, 0xbbcc942fu,
     0x64, 0, 0, 0xFFFF, 0x12, {0x000007}, 8,
     "0200000000020200000000010800456a003c00014000401126440a0000010a00"
     "0002c12312b7002800006400ffff000000120000000711111111000000346162"
     "636465666768bbcc942f"},
    {"D2", "derived: D1 one hop on, CE marked", WIRE_VECTOR_ETHERNET, 0xbbcc942fu,
     0x64, 0, 0, 0xFFFF, 0x12, {0x000007}, 8,
     "0200000000020200000000010800456b003c000140003f1127430a0000010a00"
     "0002c12312b7002800006400ffff000000120000000711111111000000346162"
     "636465666768bbcc942f"},
    {"D3", "derived: IPv6, VLAN PCP 3 VID 100, SEND_ONLY_IMM", WIRE_VECTOR_ETHERNET, 0x67080587u,
     0x05, WIRE_BTH_SE | WIRE_BTH_MIG | WIRE_BTH_ACKREQ, 3, 0xFFFF, 0xAA, {0xFFFFFE}, 5,
     "0200000000020200000000018100606486dd66a123450024114020010db80000"
     "0000000000000000000120010db8000000000000000000000002c12312b70024"
     "000005f0ffff000000aa80fffffedeadbeef68656c6c6f00000067080587"},
    {"D4", "derived: COMPARE_SWAP", WIRE_VECTOR_ETHERNET, 0x7fe67c1fu,
     0x13, WIRE_BTH_MIG | WIRE_BTH_ACKREQ, 0, 0xFFFF, 0xBB, {0x000010}, 0,
     "0200000000020200000000010800456a004800024000401126370a0000010a00"
     "0002c12312b7003400001340ffff000000bb8000001000007f00000010000000"
     "1234112233445566778899aabbccddeeff007fe67c1f"},
    {"D5", "derived: ATOMIC_ACKNOWLEDGE", WIRE_VECTOR_ETHERNET, 0x4a5b99f3u,
     0x12, WIRE_BTH_MIG, 0, 0xFFFF, 0xCC, {0x000010}, 0,
     "0200000000010200000000020800456a003800034000401126460a0000020a00"
     "0001c12312b7002400001240ffff000000cc000000101f00000599aabbccddee"
     "ff004a5b99f3"},
    {"D6", "derived: RNR NAK, code 12", WIRE_VECTOR_ETHERNET, 0xb8590b23u,
     0x11, WIRE_BTH_MIG, 0, 0xFFFF, 0xCC, {0x000011}, 0,
     "0200000000010200000000020800456a0030000440004011264d0a0000020a00"
     "0001c12312b7001c00001140ffff000000cc000000112c000005b8590b23"},
    {"D7", "derived: NAK, PSN sequence error", WIRE_VECTOR_ETHERNET, 0x44cfe0fbu,
     0x11, WIRE_BTH_MIG, 0, 0xFFFF, 0xCC, {0x000012}, 0,
     "0200000000010200000000020800456a0030000540004011264c0a0000020a00"
     "0001c12312b7001c00001140ffff000000cc000000126000000544cfe0fb"},
    {"D8", "derived: RDMA_WRITE_FIRST, 256 of 300 bytes", WIRE_VECTOR_ETHERNET, 0x74d03debu,
     0x06, WIRE_BTH_MIG, 0, 0xFFFF, 0xBB, {0x000020}, 256,
     "0200000000020200000000010800456a013c000640004011253f0a0000010a00"
     "0002c12312b7012800000640ffff000000bb0000002000007f00000020000000"
     "56780000012c000102030405060708090a0b0c0d0e0f10111213141516171819"
     "1a1b1c1d1e1f202122232425262728292a2b2c2d2e2f30313233343536373839"
     "3a3b3c3d3e3f404142434445464748494a4b4c4d4e4f50515253545556575859"
     "5a5b5c5d5e5f606162636465666768696a6b6c6d6e6f70717273747576777879"
     "7a7b7c7d7e7f808182838485868788898a8b8c8d8e8f90919293949596979899"
     "9a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9"
     "babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9"
     "dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9"
     "fafbfcfdfeff74d03deb"},
    {"D9", "derived: CNP", WIRE_VECTOR_ETHERNET, 0x5413dc99u,
     0x81, WIRE_BTH_BECN, 0, 0xFFFF, 0xCC, {0x000000}, 0,
     "020000000002020000000001080045c0003c00074000401125e80a0000010a00"
     "0002c12312b7002800008100ffff400000cc0000000000000000000000000000"
     "0000000000005413dc99"},
    {"AVEC1", "calculated: SEND_ONLY, PSN at its end", WIRE_VECTOR_IP, 0xe5620d96u,
     0x04, WIRE_BTH_ACKREQ, 0, 0xFFFF, 0x11, {0xFFFFFF}, 4,
     "4502003000004000401126b90a0000010a000002c00012b7001c00000400ffff"
     "0000001180ffffff00010203e5620d96"},
    {"AVEC2", "calculated: SEND_ONLY of one byte", WIRE_VECTOR_IP, 0x2a45176eu,
     0x04, WIRE_BTH_ACKREQ, 3, 0xFFFF, 0x11, {0x000000}, 1,
     "4502003000004000401126b90a0000010a000002c00012b7001c00000430ffff"
     "0000001180000000aa0000002a45176e"},
    {"V1", "calculated: RoCEv1, tagged RDMA_WRITE_ONLY of 5 bytes; tshark reads it the same",
     WIRE_VECTOR_ETHERNET, 0xd37326c2u,
     0x0A, WIRE_BTH_ACKREQ, 3, 0xFFFF, 0xBB, {0x000020}, 5,
     "02000000000202000000000181006064891566a1234500281b40fe8000000000"
     "00000000000000000001fe8000000000000000000000000000020a30ffff0000"
     "00bb8000002000007f0000005678000012340000000568656c6c6f000000d373"
     "26c2"},
    {"V2", "calculated: RoCEv1, ACKNOWLEDGE; tshark reads it the same",
     WIRE_VECTOR_ETHERNET, 0x3de2f9cbu,
     0x11, 0, 0, 0xFFFF, 0xCC, {0x000010}, 0,
     "02000000000202000000000189156000000000141bff00000000000000000000"
     "ffff0a00000200000000000000000000ffff0a0000011100ffff000000cc0000"
     "00101f0000053de2f9cb"},
};
#define WIRE_VECTORS (sizeof(wire_vectors) / sizeof(wire_vectors[0]))

/* KAV3: InfiniBand, not Ethernet: link header, BTH, RETH (length 14), 14 bytes, pad 2, ICRC. */
static const char wire_kav3_infiniband[] =
    "7012375c000e17d2"
    "0a2024870087b1b3000dec2a"
    "01710a1c015d400238f27a050000000e"
    "bb884d85fd5cfba4728bc0690ed4"
    "0000"
    "9625b75a";

/* KAV7: for the CRC alone: the IP length is 0 on purpose. ICRC last. */
static const char wire_kav7_malformed[] =
    "450000000000000040117ce87f0000037f00000212b712b700200000"
    "110000000000000200000000"
    "0000000000000000"
    "4021a3cf";

/* libtins RoCEv2Test: an ACK whose ICRC is 0; only its fields are right. */
static const char wire_field_only_ack[] =
    "f49bc1dc4b740000000000dd0800"
    "451c003000004000ff1195d90000000282726353"
    "705012b7001c0000"
    "1100ffff00ca183900000002"
    "00a9d0bd"
    "00000000";

/* roomsoc: an ACK of a public RTL core that masks something else, and asks for port 8000. */
static const char wire_negative_rtl_ack[] =
    "241c04f325d7123456789abc0800"
    "45000030000040004011b569c0a80202c0a80201"
    "12b71f40001c0000"
    "1100ffff0000000200000000"
    "00000000"
    "392aa6c7";
#define WIRE_NEGATIVE_RTL_ACK_RIGHT_ICRC 0xacac3866u /* by the standard, in wire order */

/*
 * A community example of a CNP (22.22.22.8 to .7, id 0x98c6, source port 56238, ToS 0x89, QPN 0xd2)
 * documents 0xe42dad81, which nobody could reproduce; the standard gives the
 * values below (its IP checksum shows that the TTL was 32).
 */
#define WIRE_NEGATIVE_CNP_WRONG_ICRC 0xe42dad81u
#define WIRE_NEGATIVE_CNP_RIGHT_ICRC 0xdafc1befu
#define WIRE_NEGATIVE_CNP_IP_CHECKSUM 0x6927u

/* Pause class 3 for 65535 quanta, from 02:00:00:00:00:01. */
static const char wire_pfc_pause_3[] =
    "0180c20000010200000000018808"
    "010100080000000000" "00ffff0000000000000000"
    "0000000000000000000000000000000000000000000000000000";
/* clang-format on */

#endif
