/* SPDX-License-Identifier: GPL-2.0-only */
// Captures: read back with our decoder, and with tshark as a second opinion.

#include "rnic-switch-port.h"
#include "rnic-test-star.h"

#include "ns3/pcap-file.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

using namespace ns3;

namespace
{

/** One captured frame. */
struct Captured
{
    uint64_t at_ns;
    std::vector<uint8_t> bytes;
};

/** @returns all frames of a capture file; link type and precision must be what we write. */
std::vector<Captured> ReadCapture(const std::string &name, bool *right)
{
    PcapFile file;
    std::vector<Captured> all;
    uint8_t bytes[9000];
    uint32_t seconds;
    uint32_t fraction;
    uint32_t included;
    uint32_t original;
    uint32_t read;

    file.Open(name, std::ios::in | std::ios::binary);
    *right = !file.Fail() && file.GetDataLinkType() == 1 && file.IsNanoSecMode();
    while (!file.Fail() && !file.Eof())
    {
        file.Read(bytes, sizeof(bytes), seconds, fraction, included, original, read);
        if (file.Fail() || file.Eof())
        {
            break;
        }
        *right = *right && included == original;
        all.push_back({seconds * 1000000000ull + fraction, {bytes, bytes + read}});
    }
    return all;
}

/** @returns what a command prints; empty when it cannot be run. */
std::string Output(const std::string &command)
{
    std::string text;
    char piece[4096];
    FILE *pipe = popen(command.c_str(), "r");

    while (pipe && std::fgets(piece, sizeof(piece), pipe))
    {
        text += piece;
    }
    if (pipe)
    {
        pclose(pipe);
    }
    return text;
}

/** @returns how often @p word is a whole line of @p text. */
size_t Lines(const std::string &text, const std::string &word)
{
    std::istringstream lines(text);
    std::string line;
    size_t n = 0;

    while (std::getline(lines, line))
    {
        n += line == word;
    }
    return n;
}

/** @returns the number of lines of @p text. */
size_t AllLines(const std::string &text)
{
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

} // namespace

/** Every frame of a port, sent and received, pause frames too, is in its file as it was. */
class RnicPcapTestCase : public TestCase
{
public:
    RnicPcapTestCase() : TestCase("pcap of a port: complete, decodable, RoCEv2 for tshark")
    {
    }

private:
    void Frame(const RnicFrameInfo &frame)
    {
        m_expected.push_back({static_cast<uint64_t>(Simulator::Now().GetNanoSeconds()),
                              frame.header.frame_bytes - WIRE_FCS_BYTES});
    }

    /** Four hosts write into a fifth and are paused; @returns names of the two captures. */
    std::pair<std::string, std::string> Capture()
    {
        RnicTestStar star(5);
        const std::string host = CreateTempDirFilename("host.pcap");
        const std::string prefix = CreateTempDirFilename("port");

        star.m_helper.SetNicAttribute("Mtu", UintegerValue(1024));
        star.m_helper.SetSwitchAttribute("Buffer", UintegerValue(1500000));
        star.m_helper.SetSwitchAttribute("EcnKmin", UintegerValue(20000));
        star.m_helper.SetSwitchAttribute("EcnKmax", UintegerValue(100000));
        star.Build(300000);
        star.m_helper.EnablePcap(host, star.m_nics[0], true, true);
        star.m_helper.EnablePcap(prefix, NetDeviceContainer(star.m_switch->GetPort(4)));
        star.m_nics[0]->TraceConnectWithoutContext("FrameTx",
                                                   MakeCallback(&RnicPcapTestCase::Frame, this));
        star.m_nics[0]->TraceConnectWithoutContext("FrameRx",
                                                   MakeCallback(&RnicPcapTestCase::Frame, this));
        for (uint32_t i = 0; i < 4; i++)
        {
            star.Fill(i);
            star.m_verbs[i]->PostWrite(star.Pair(i, 4).first, i, star.m_memory[i], 0,
                                       star.m_memory[4], 0, 300000);
        }
        star.m_nics[0]->Send(Create<Packet>(500), star.m_nics[1]->GetAddress(), 0x88B5);
        Simulator::Run();
        m_pauses = star.m_nics[0]->GetCounters().pause_rx;
        m_cnps = rnic_query_counters(star.m_nics[0]->GetDevice())->cnps_rx;
        m_dataTx = star.m_nics[4]->GetCounters().rx_frames;

        const Ptr<RnicSwitchPort> port = star.m_switch->GetPort(4);

        return {host, prefix + "-" + std::to_string(port->GetNode()->GetId()) + "-4.pcap"};
    }

    void CheckBytes(const std::vector<Captured> &frames)
    {
        std::map<int, int> kinds;
        uint64_t pauses = 0;
        uint64_t cnps = 0;
        uint64_t ordinary = 0;

        NS_TEST_ASSERT_MSG_EQ(frames.size(), m_expected.size(), "every frame once");
        for (size_t i = 0; i < frames.size(); i++)
        {
            const Captured &frame = frames[i];
            struct wire_packet packet;

            NS_TEST_EXPECT_MSG_EQ(frame.at_ns, m_expected[i].first, "time of frame " << i);
            NS_TEST_EXPECT_MSG_LT(frames[i > 0 ? i - 1 : 0].at_ns, frame.at_ns + 1, "in order");
            if (frame.bytes.size() == 514 && frame.bytes[12] == 0x88 && frame.bytes[13] == 0xB5)
            {
                ordinary++;
                continue;
            }
            NS_TEST_EXPECT_MSG_EQ(frame.bytes.size(), m_expected[i].second, "size of frame " << i);

            const enum wire_drop drop =
                wire_decode(frame.bytes.data(), frame.bytes.size(), 0, &packet);

            NS_TEST_EXPECT_MSG_EQ(wire_drop_name(drop), std::string("none"), "frame " << i);
            pauses += packet.kind == WIRE_KIND_PFC;
            cnps += packet.kind == WIRE_KIND_ROCE && packet.opcode == WIRE_OP_CNP;
        }
        NS_TEST_EXPECT_MSG_GT(m_pauses, 0, "there were pauses");
        NS_TEST_EXPECT_MSG_EQ(pauses, m_pauses, "pause frames");
        NS_TEST_EXPECT_MSG_EQ(cnps, m_cnps, "CNPs");
        NS_TEST_EXPECT_MSG_EQ(ordinary, 1, "the ordinary packet");
    }

    void CheckTshark(const std::string &name, size_t frames)
    {
        const std::string tshark = "tshark -r '" + name + "' 2>/dev/null ";

        if (Output("command -v tshark").empty())
        {
            std::cout << "tshark is not installed: the second opinion is left out" << std::endl;
            return;
        }

        const std::string opcodes = Output(tshark + "-T fields -e infiniband.bth.opcode");
        const std::string wrong = Output(tshark + "-Y '_ws.malformed || _ws.expert.severity >= "
                                                  "8388608' -T fields -e frame.number");
        const std::string pauses =
            Output(tshark + "-Y 'macc.opcode == 0x0101' -T fields -e frame.number");
        const std::string cnps =
            Output(tshark + "-Y 'infiniband.bth.opcode == 129' -T fields -e frame.number");

        NS_TEST_EXPECT_MSG_EQ(AllLines(opcodes), frames, "frames");
        NS_TEST_EXPECT_MSG_EQ(Lines(opcodes, "6"), 1, "one WRITE First");
        NS_TEST_EXPECT_MSG_EQ(Lines(opcodes, "8"), 1, "one WRITE Last");
        NS_TEST_EXPECT_MSG_EQ(Lines(opcodes, "7"), 291, "300000 / 1024 packets in all");
        NS_TEST_EXPECT_MSG_EQ(wrong, "", "nothing tshark objects to");
        NS_TEST_EXPECT_MSG_EQ(AllLines(pauses), m_pauses, "PFC");
        NS_TEST_EXPECT_MSG_EQ(AllLines(cnps), m_cnps, "CNPs");
    }

    void DoRun() override
    {
        const std::pair<std::string, std::string> names = Capture();
        bool right = false;
        const std::vector<Captured> host = ReadCapture(names.first, &right);

        NS_TEST_EXPECT_MSG_EQ(right, true, "Ethernet with nanoseconds");
        CheckBytes(host);
        CheckTshark(names.first, host.size());

        // At the switch's port to the target: routed once, so TTL 63, marked where congested.
        const std::vector<Captured> port = ReadCapture(names.second, &right);
        uint64_t data = 0;
        uint64_t marked = 0;

        NS_TEST_EXPECT_MSG_EQ(right, true, "Ethernet with nanoseconds");
        for (const Captured &frame : port)
        {
            struct wire_packet packet;

            NS_TEST_EXPECT_MSG_EQ(wire_decode(frame.bytes.data(), frame.bytes.size(), 0, &packet),
                                  WIRE_DROP_NONE, "decodes");
            if (packet.kind == WIRE_KIND_ROCE && packet.payload_bytes > 0)
            {
                data++;
                marked += (packet.tos & WIRE_ECN_MASK) == WIRE_ECN_CE;
                NS_TEST_EXPECT_MSG_EQ(int(packet.ttl), 63, "one hop");
                NS_TEST_EXPECT_MSG_EQ(int(packet.eth_dst[5]), 5, "MAC of the target");
            }
        }
        NS_TEST_EXPECT_MSG_EQ(data, m_dataTx, "all data frames");
        NS_TEST_EXPECT_MSG_GT(marked, 0, "some are marked");
    }

    std::vector<std::pair<uint64_t, uint64_t>> m_expected; //!< time in ns, bytes without FCS
    uint64_t m_pauses = 0;                                 //!< pause frames the host received
    uint64_t m_cnps = 0;                                   //!< CNPs the host received
    uint64_t m_dataTx = 0;                                 //!< data frames the target received
};

class RnicPcapTestSuite : public TestSuite
{
public:
    RnicPcapTestSuite() : TestSuite("rnic-pcap")
    {
        AddTestCase(new RnicPcapTestCase);
    }
};

static RnicPcapTestSuite g_rnicPcapTestSuite; //!< registers itself
