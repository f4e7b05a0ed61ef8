/* SPDX-License-Identifier: GPL-2.0-only */
// Devices as ns-3 sees them: attributes, stations, links, routes.

#include "rnic-param-attribute.h"
#include "rnic-test-star.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/names.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <set>
#include <sstream>

using namespace ns3;

namespace
{

/** @returns the value type an entry of this unit must have as an attribute. */
std::string TypeOf(enum wire_unit unit)
{
    switch (unit)
    {
    case WIRE_UNIT_TIME:
        return "ns3::TimeValue";
    case WIRE_UNIT_RATE:
        return "ns3::DataRateValue";
    case WIRE_UNIT_BYTES:
    case WIRE_UNIT_COUNT:
        return "ns3::UintegerValue";
    case WIRE_UNIT_BOOL:
        return "ns3::BooleanValue";
    case WIRE_UNIT_ENUM:
        return "ns3::StringValue";
    case WIRE_UNIT_RATIO:
        return "ns3::DoubleValue";
    }
    return "";
}

/** @returns @p value of an entry as attribute text. */
std::string Text(const struct wire_param *entry, double value)
{
    std::ostringstream text;

    text.precision(17);
    if (entry->unit == WIRE_UNIT_BOOL)
    {
        return value != 0 ? "true" : "false";
    }
    if (entry->unit == WIRE_UNIT_ENUM)
    {
        std::istringstream names(entry->names);
        std::string name;

        for (int i = 0; i <= value; i++)
        {
            std::getline(names, name, ',');
        }
        return name;
    }
    text << value;
    if (entry->unit == WIRE_UNIT_TIME)
    {
        return text.str() + "ps";
    }
    return entry->unit == WIRE_UNIT_RATE ? text.str() + "bps" : text.str();
}

} // namespace

/** Every entry of a parameter table is an attribute with its unit, default, range and effect. */
class RnicAttributesTestCase : public TestCase
{
public:
    RnicAttributesTestCase() : TestCase("every parameter of the C tables is an attribute")
    {
    }

private:
    void Table(TypeId tid, const std::string &prefix, const struct wire_param *table, size_t n,
               const std::function<const void *(Ptr<Object>)> &block)
    {
        for (size_t i = 0; i < n; i++)
        {
            Entry(tid, prefix + RnicAttributeName(&table[i]), &table[i], block);
        }
    }

    void Entry(TypeId tid, const std::string &name, const struct wire_param *entry,
               const std::function<const void *(Ptr<Object>)> &block)
    {
        ObjectFactory factory;
        struct TypeId::AttributeInformation info;

        factory.SetTypeId(tid);
        NS_TEST_ASSERT_MSG_EQ(tid.LookupAttributeByName(name, &info), true, "attribute " << name);
        NS_TEST_EXPECT_MSG_EQ(info.checker->GetValueTypeName(), TypeOf(entry->unit), name);

        Ptr<Object> object = factory.Create<Object>();

        NS_TEST_EXPECT_MSG_EQ(wire_param_get(entry, block(object)), entry->def, name);
        for (double value : {entry->max, entry->min, entry->def})
        {
            const std::string text = Text(entry, value);

            NS_TEST_EXPECT_MSG_EQ(object->SetAttributeFailSafe(name, StringValue(text)), true,
                                  name << " = " << text);
            NS_TEST_EXPECT_MSG_EQ(wire_param_get(entry, block(object)), value, name);

            Ptr<AttributeValue> back = info.checker->Create();

            object->GetAttribute(name, *back);
            NS_TEST_EXPECT_MSG_EQ(object->SetAttributeFailSafe(name, *back), true, name);
            NS_TEST_EXPECT_MSG_EQ(wire_param_get(entry, block(object)), value, name);
        }
        if (entry->unit == WIRE_UNIT_ENUM)
        {
            NS_TEST_EXPECT_MSG_EQ(object->SetAttributeFailSafe(name, StringValue("lots")), false,
                                  name << " = lots");
        }
        else if (entry->unit != WIRE_UNIT_BOOL)
        {
            const std::string text = Text(entry, entry->max * 2 + 1);

            NS_TEST_EXPECT_MSG_EQ(object->SetAttributeFailSafe(name, StringValue(text)), false,
                                  name << " beyond its range");
            NS_TEST_EXPECT_MSG_EQ(wire_param_get(entry, block(object)), entry->def, name);
        }
    }

    void DoRun() override
    {
        Table(RnicNetDevice::GetTypeId(), "", rnic_param_table, rnic_param_count,
              [](Ptr<Object> o) -> const void *
              { return &DynamicCast<RnicNetDevice>(o)->GetParams(); });
        Table(RnicNetDevice::GetTypeId(), "Dcqcn", rnic_dcqcn_param_table, rnic_dcqcn_param_count,
              [](Ptr<Object> o) -> const void *
              { return &DynamicCast<RnicNetDevice>(o)->GetDcqcnParams(); });
        Table(RnicSwitchDevice::GetTypeId(), "", fabric_param_table, fabric_param_count,
              [](Ptr<Object> o) -> const void *
              { return &DynamicCast<RnicSwitchDevice>(o)->GetParams(); });

        struct engine_link_params link;

        Table(RnicLink::GetTypeId(), "", engine_link_param_table, engine_link_param_count,
              [&link](Ptr<Object> o) -> const void *
              {
                  link = DynamicCast<RnicLink>(o)->GetLinkParams(0);
                  return &link;
              });
    }
};

/** Units, names and help as a user meets them. */
class RnicUnitsTestCase : public TestCase
{
public:
    RnicUnitsTestCase() : TestCase("attributes take values with units, from Config::SetDefault too")
    {
    }

private:
    void DoRun() override
    {
        Config::SetDefault("ns3::RnicNetDevice::TxLatency", StringValue("1500ps"));

        Ptr<RnicNetDevice> nic = CreateObject<RnicNetDevice>();
        TimeValue time;

        Config::SetDefault("ns3::RnicNetDevice::TxLatency", StringValue("200ns"));
        NS_TEST_EXPECT_MSG_EQ(nic->GetParams().tx_latency_ps, 1500, "a default in picoseconds");
        nic->GetAttribute("TxLatency", time);
        NS_TEST_EXPECT_MSG_EQ(time.Get(), PicoSeconds(1500), "read back as a Time");
        nic->SetAttribute("Pcie", StringValue("64Gbps"));
        NS_TEST_EXPECT_MSG_EQ(nic->GetParams().pcie_bps, 64000000000, "a rate");
        nic->SetAttribute("CnpInterval", TimeValue(MicroSeconds(4)));
        NS_TEST_EXPECT_MSG_EQ(nic->GetParams().cnp_interval_ps, 4000000, "a time");
        NS_TEST_EXPECT_MSG_EQ(nic->GetCc(), "dcqcn", "default control");
        nic->SetAttribute("Cc", StringValue("none"));
        NS_TEST_EXPECT_MSG_EQ(nic->GetCc(), "none", "another control");
    }
};

/** The default: cards come before switches, each in the order of installation. */
class RnicStationsTestCase : public TestCase
{
public:
    RnicStationsTestCase() : TestCase("stations, addresses and the engine of a simulation")
    {
    }

private:
    void DoRun() override
    {
        for (int round = 0; round < 2; round++)
        {
            RnicTestStar star(3);

            star.Build();
            for (uint32_t i = 0; i < 3; i++)
            {
                const std::string mac = "02:00:00:00:00:0" + std::to_string(i + 1);

                NS_TEST_EXPECT_MSG_EQ(star.m_nics[i]->GetPort(), i, "station of a card");
                NS_TEST_EXPECT_MSG_EQ(star.m_nics[i]->GetAddress(),
                                      Address(Mac48Address(mac.c_str())), "default address");
                NS_TEST_EXPECT_MSG_EQ(star.m_switch->GetPort(i)->GetPort(), 3 + i, "switch port");
                NS_TEST_EXPECT_MSG_EQ(star.m_nics[i]->GetNextHop(2), 3 + i, "the router's port");
                NS_TEST_EXPECT_MSG_EQ(star.m_nics[i]->GetChannel(), star.m_links[i], "channel");
            }
            NS_TEST_EXPECT_MSG_EQ(RnicEngine::Get()->GetNPorts(), 6, "a new engine each time");
            NS_TEST_EXPECT_MSG_EQ(
                star.m_switch, star.m_switch->GetPort(0)->GetNode()->GetObject<RnicSwitchDevice>(),
                "aggregated to its node");
            NS_TEST_EXPECT_MSG_EQ(star.m_nics[0]->SetAttributeFailSafe("Mtu", UintegerValue(1024)),
                                  false, "too late once the card is in use");
            NS_TEST_EXPECT_MSG_EQ(star.m_switch->SetAttributeFailSafe("Alpha", DoubleValue(1)),
                                  false, "too late once the switch is in use");
            NS_TEST_EXPECT_MSG_EQ(star.m_links[0]->SetAttributeFailSafe("Loss", DoubleValue(0)),
                                  false, "too late once the link is in use");
        }
        NS_TEST_EXPECT_MSG_EQ(RnicEngine::Exists(), false, "gone with Simulator::Destroy");
    }
};

/** A direction of its own: by attributes and by structs. */
class RnicLinkTestCase : public TestCase
{
public:
    RnicLinkTestCase() : TestCase("link parameters by direction")
    {
    }

private:
    void DoRun() override
    {
        Ptr<RnicLink> link = CreateObject<RnicLink>();

        link->SetAttribute("Delay", StringValue("2us"));
        link->SetAttribute("DataRate", StringValue("25Gbps"));
        NS_TEST_EXPECT_MSG_EQ(link->GetLinkParams(1).delay_ps, 2000000, "both directions");
        NS_TEST_EXPECT_MSG_EQ(link->GetLinkParams(1).rate_bps, 25000000000, "both directions");
        link->SetAttribute("BackDelay", StringValue("1500ps"));
        link->SetAttribute("BackDataRate", StringValue("10Gbps"));
        link->SetAttribute("BackLoss", DoubleValue(0.25));
        NS_TEST_EXPECT_MSG_EQ(link->GetLinkParams(0).delay_ps, 2000000, "forward stays");
        NS_TEST_EXPECT_MSG_EQ(link->GetLinkParams(0).loss, 0, "forward stays");
        NS_TEST_EXPECT_MSG_EQ(link->GetLinkParams(1).delay_ps, 1500, "back");
        NS_TEST_EXPECT_MSG_EQ(link->GetLinkParams(1).rate_bps, 10000000000, "back");
        NS_TEST_EXPECT_MSG_EQ(link->GetLinkParams(1).loss, 0.25, "back");
    }
};

/** Leaf and spine: all shortest paths and no others. */
class RnicRoutesTestCase : public TestCase
{
public:
    RnicRoutesTestCase() : TestCase("routes: all shortest paths, used by all queue pairs together")
    {
    }

private:
    void CountTx(std::string context, const RnicFrameInfo &frame)
    {
        if (frame.header.payload_bytes > 0)
        {
            m_sent[context]++;
        }
    }

    void DoRun() override
    {
        RnicTestStar star(2); // its hosts and helper, with a fabric of our own
        NodeContainer nodes(4);
        Ptr<RnicSwitchDevice> leaf[2];
        Ptr<RnicSwitchDevice> spine[2];

        for (int i = 0; i < 2; i++)
        {
            star.m_nics.push_back(star.m_helper.InstallNic(star.m_hosts.Get(i)));
            leaf[i] = star.m_helper.InstallSwitch(nodes.Get(i), 4);
            spine[i] = star.m_helper.InstallSwitch(nodes.Get(2 + i), 4);
            star.m_helper.Connect(star.m_nics[i], leaf[i]);
        }
        for (int i = 0; i < 4; i++)
        {
            star.m_helper.Connect(leaf[i / 2], spine[i % 2]);
        }
        star.m_helper.Connect(spine[0], spine[1]); // longer way, never used
        RnicHelper::PopulateRoutes();
        for (int i = 0; i < 2; i++)
        {
            for (uint32_t port = 0; port < 4; port++)
            {
                spine[i]->GetPort(port)->TraceConnect(
                    "FrameTx", "spine" + std::to_string(i) + "." + std::to_string(port),
                    MakeCallback(&RnicRoutesTestCase::CountTx, this));
            }
        }
        for (const Ptr<RnicNetDevice> &nic : star.m_nics)
        {
            Ptr<RnicVerbs> verbs = CreateObject<RnicVerbs>(nic);
            uint32_t pd = 0;
            uint32_t cq = 0;

            verbs->AllocPd(&pd);
            verbs->CreateCq(256, &cq);
            star.m_verbs.push_back(verbs);
            star.m_pds.push_back(pd);
            star.m_cqs.push_back(cq);
            star.m_memory.push_back(
                verbs->AllocMemory(pd, 4096, RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE));
        }
        for (int i = 0; i < 64; i++)
        {
            auto qpns = star.Pair(0, 1, 4);

            star.m_verbs[0]->PostWrite(qpns.first, i, star.m_memory[0], 0, star.m_memory[1], 0,
                                       4096);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(star.Poll(0).size(), 64, "all complete");
        NS_TEST_EXPECT_MSG_EQ(m_sent.size(), 2, "one port of each spine");
        NS_TEST_EXPECT_MSG_GT(m_sent["spine0.1"], 16, "ECMP uses this way");
        NS_TEST_EXPECT_MSG_GT(m_sent["spine1.1"], 16, "ECMP uses that way");
        NS_TEST_EXPECT_MSG_EQ(m_sent["spine0.1"] + m_sent["spine1.1"], 64, "each frame once");
    }

    std::map<std::string, int> m_sent; //!< data frames by port
};

/** A buffer that is too small is refused with numbers. */
class RnicBufferTestCase : public TestCase
{
public:
    RnicBufferTestCase() : TestCase("a switch buffer that cannot hold its headroom is refused")
    {
    }

private:
    void DoRun() override
    {
        RnicTestStar star(2);
        std::string why;

        star.m_helper.SetSwitchAttribute("Buffer", UintegerValue(10000));
        Ptr<RnicSwitchDevice> device = star.m_helper.InstallSwitch(CreateObject<Node>(), 2);

        for (int i = 0; i < 2; i++)
        {
            star.m_helper.Connect(star.m_helper.InstallNic(star.m_hosts.Get(i)), device);
        }
        NS_TEST_EXPECT_MSG_EQ(RnicHelper::TryPopulateRoutes(&why), false, "refused");
        NS_TEST_EXPECT_MSG_NE(why.find("missing"), std::string::npos, "says how much: " << why);
        NS_TEST_EXPECT_MSG_NE(why.find(device->GetName()), std::string::npos,
                              "says where: " << why);
    }
};

class RnicDeviceTestSuite : public TestSuite
{
public:
    RnicDeviceTestSuite() : TestSuite("rnic-device")
    {
        AddTestCase(new RnicAttributesTestCase);
        AddTestCase(new RnicUnitsTestCase);
        AddTestCase(new RnicStationsTestCase);
        AddTestCase(new RnicLinkTestCase);
        AddTestCase(new RnicRoutesTestCase);
        AddTestCase(new RnicBufferTestCase);
    }
};

static RnicDeviceTestSuite g_rnicDeviceTestSuite; //!< registers itself
