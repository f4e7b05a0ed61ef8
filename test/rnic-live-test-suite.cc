/* SPDX-License-Identifier: GPL-2.0-only */
// How ports to the outside begin and end. What passes them: test/live/fabric_test.py.

#include "rnic-helper.h"

#include "ns3/global-value.h"
#include "ns3/string.h"
#include "ns3/test.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace ns3;

namespace
{

/** A host outside: a socket beside that of the port. */
class Host
{
public:
    explicit Host(const std::string &name) : m_ours(name + ".host"), m_theirs(name + ".port")
    {
        const struct sockaddr_un here = Place(m_ours);

        m_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        m_good = bind(m_fd, reinterpret_cast<const struct sockaddr *>(&here), sizeof(here)) == 0;
    }

    ~Host()
    {
        close(m_fd);
        unlink(m_ours.c_str());
    }

    std::string Line() const
    {
        return "unix," + m_theirs + "," + m_ours;
    }

    bool IsGood() const
    {
        return m_good;
    }

    bool PortIsThere() const
    {
        return access(m_theirs.c_str(), F_OK) == 0;
    }

    /** Send @p n frames to everybody. @returns how many found room. */
    int Send(int n)
    {
        const struct sockaddr_un there = Place(m_theirs);
        uint8_t frame[500] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, 0x55, 0, 0, 0, 1, 0x88, 0xB5};
        int sent = 0;

        while (n-- > 0)
        {
            sent += sendto(m_fd, frame, sizeof(frame), 0,
                           reinterpret_cast<const struct sockaddr *>(&there), sizeof(there)) > 0;
        }
        return sent;
    }

private:
    static struct sockaddr_un Place(const std::string &path)
    {
        struct sockaddr_un address = {};

        address.sun_family = AF_UNIX;
        std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", path.c_str());
        return address;
    }

    std::string m_ours;
    std::string m_theirs;
    int m_fd;
    bool m_good;
};

} // namespace

/** Two ports at a switch, in simulations one after the other. */
class RnicLiveEndTestCase : public TestCase
{
public:
    RnicLiveEndTestCase() : TestCase("ports to the outside end in any order")
    {
    }

private:
    enum Course
    {
        NEVER_RUN,
        RUN,
        AGAIN,          //!< frames come between Run() and Destroy()
        DISPOSE_READER, //!< of the port that has read frames and not taken them yet
        DISPOSE_WRITER, //!< of the port at whose line frames wait
        COURSES
    };

    void DoRun() override
    {
        char folder[] = "/tmp/rnic-live-XXXXXX";

        NS_TEST_ASSERT_MSG_NE(mkdtemp(folder), nullptr, "a folder for sockets");
        GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::RealtimeSimulatorImpl"));
        for (int course = 0; course < COURSES; course++)
        {
            for (bool engineFirst : {false, true})
            {
                m_course = course;
                Simulate(folder, engineFirst);
            }
        }
        GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::DefaultSimulatorImpl"));
        NS_TEST_EXPECT_MSG_EQ(rmdir(folder), 0, "nothing is left there");
    }

    void Simulate(const std::string &folder, bool engineFirst)
    {
        Host hosts[2] = {Host(folder + "/a"), Host(folder + "/b")};

        if (Time::GetResolution() != Time::PS)
        {
            Time::SetResolution(Time::PS);
        }
        if (engineFirst)
        {
            RnicEngine::Get(); // so Destroy() ends it before the nodes
        }

        RnicHelper rnic;

        rnic.SetSwitchAttribute("L2", StringValue("true"));

        Ptr<RnicSwitchDevice> device = rnic.InstallSwitch(CreateObject<Node>(), 2);

        for (int i = 0; i < 2; i++)
        {
            NS_TEST_ASSERT_MSG_EQ(hosts[i].IsGood(), true, "a socket");
            m_lives[i] = rnic.InstallLive(CreateObject<Node>(), hosts[i].Line());
            rnic.Connect(m_lives[i], device);
        }
        RnicHelper::PopulateRoutes();
        m_host = &hosts[0];
        if (m_course != NEVER_RUN)
        {
            Simulator::Schedule(MilliSeconds(5), &RnicLiveEndTestCase::Blast, this);
            Simulator::Run();
        }
        if (m_course == AGAIN)
        {
            NS_TEST_EXPECT_MSG_GT(hosts[0].Send(2000), 0, "the line is open");
        }
        m_lives[0] = m_lives[1] = nullptr;
        Simulator::Destroy();
        for (const Host &host : hosts)
        {
            NS_TEST_EXPECT_MSG_EQ(host.PortIsThere(), false, "the line is closed");
        }
    }

    // More than fit into the socket of the other host, who reads nothing.
    void Blast()
    {
        NS_TEST_EXPECT_MSG_GT(m_host->Send(500), 0, "the line is open");
        poll(nullptr, 0, 20); // the reader tells of them
        if (m_course == DISPOSE_READER)
        {
            m_lives[0]->Dispose();
        }
        Wait();
    }

    // Until the frames have left, or wait for room.
    void Wait()
    {
        if (m_course != DISPOSE_READER && m_lives[1]->GetLineCounters().sent == 0)
        {
            Simulator::Schedule(MilliSeconds(1), &RnicLiveEndTestCase::Wait, this);
            return;
        }
        if (m_course == DISPOSE_WRITER)
        {
            m_lives[1]->Dispose();
            NS_TEST_EXPECT_MSG_GT(m_lives[1]->GetLineCounters().sent, 0, "still known");
        }
        Simulator::Stop(MilliSeconds(5));
    }

    int m_course;
    Ptr<RnicLiveDevice> m_lives[2];
    Host *m_host;
};

/** The suite of this file. */
class RnicLiveTestSuite : public TestSuite
{
public:
    RnicLiveTestSuite() : TestSuite("rnic-live")
    {
        AddTestCase(new RnicLiveEndTestCase);
    }
};

static RnicLiveTestSuite g_rnicLiveTestSuite;
