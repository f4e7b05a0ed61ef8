/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic-progress.h"

#include "rnic-engine.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <unistd.h>

namespace ns3
{

namespace
{

constexpr double TICK_S = 0.1;  /* wall-clock time between looks, about */
constexpr double LINE_S = 10.0; /* between plain lines */
constexpr double BAR_S = 0.2;   /* between bars */
constexpr int BAR_CELLS = 24;

volatile std::sig_atomic_t g_interrupted = 0;

void OnInterrupt(int number)
{
    g_interrupted = 1;
    std::signal(number, SIG_DFL);
}

double Seconds(std::chrono::steady_clock::duration d)
{
    return std::chrono::duration<double>(d).count();
}

} // namespace

RnicProgress::RnicProgress(std::string name, uint64_t hops)
    : m_name(std::move(name)), m_hops(std::max<uint64_t>(hops, 1)), m_terminal(isatty(2) != 0),
      m_period(PicoSeconds(1000000)), m_barUp(false)
{
}

void RnicProgress::CatchInterrupt()
{
    std::signal(SIGINT, OnInterrupt);
    std::signal(SIGTERM, OnInterrupt);
    if (std::signal(SIGHUP, OnInterrupt) == SIG_IGN)
    {
        std::signal(SIGHUP, SIG_IGN); // nohup
    }
}

bool RnicProgress::IsInterrupted()
{
    return g_interrupted != 0;
}

void RnicProgress::StopWhen(std::function<bool()> broken)
{
    m_broken = std::move(broken);
}

void RnicProgress::Start()
{
    m_begin = m_last = m_shown = Clock::now();
    m_tick = Simulator::Schedule(m_period, &RnicProgress::Tick, this);
}

void RnicProgress::Stop()
{
    Simulator::Cancel(m_tick);
}

void RnicProgress::Tick()
{
    if (IsInterrupted() || (m_broken && m_broken()) || RnicEngine::Get()->NextPs() == WIRE_NEVER)
    {
        Simulator::Stop();
        return;
    }
    const Clock::time_point now = Clock::now();
    const double since = Seconds(now - m_last);
    m_last = now;
    // Simulated time between looks, so that they come about TICK_S apart.
    const int64_t ps = m_period.GetPicoSeconds();
    m_period = PicoSeconds(since < TICK_S / 2   ? ps * 2
                           : since > TICK_S * 2 ? std::max<int64_t>(ps / 4, 1000)
                                                : ps);
    if (Seconds(now - m_shown) > (m_terminal ? BAR_S : LINE_S))
    {
        m_shown = now;
        Show(Seconds(now - m_begin));
    }
    m_tick = Simulator::Schedule(m_period, &RnicProgress::Tick, this);
}

void RnicProgress::Show(double elapsedS)
{
    struct engine_counters counters;
    engine_query(RnicEngine::Get()->GetEngine(), &counters);
    const double done =
        std::min(0.999, static_cast<double>(counters.packet_hops) / static_cast<double>(m_hops));
    const double left = done > 0 ? elapsedS * (1 - done) / done : 0;
    const double ms = Simulator::Now().GetSeconds() * 1e3;
    const double events = static_cast<double>(counters.events) / 1e6;
    if (!m_terminal)
    {
        std::fprintf(stderr,
                     "rnic-run: %s: %.3f ms simulated, %.1f M events, %.0f %%, ETA %.0f s\n",
                     m_name.c_str(), ms, events, done * 100, left);
        return;
    }
    char bar[BAR_CELLS + 1] = "";
    for (int i = 0; i < BAR_CELLS; i++)
    {
        bar[i] = i < static_cast<int>(done * BAR_CELLS) ? '#' : '.';
    }
    std::fprintf(stderr, "\r\033[K%s [%s] %3.0f %%  %.3f ms  %.1f M events  ETA %.0f s",
                 m_name.c_str(), bar, done * 100, ms, events, left);
    std::fflush(stderr);
    m_barUp = true;
}

void RnicProgress::Clear()
{
    if (m_barUp)
    {
        std::fputs("\r\033[K", stderr);
        m_barUp = false;
    }
}

} // namespace ns3
