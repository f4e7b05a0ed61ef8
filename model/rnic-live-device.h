/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNIC_LIVE_DEVICE_H
#define RNIC_LIVE_DEVICE_H

#include "rnic-port-device.h"

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ns3
{

/**
 * @ingroup rnic
 * A port of the fabric whose other side is outside of the simulation: a virtual machine, a TAP
 * device, another program.
 *
 * Connect it to a switch that bridges (L2) as a card would be: the link's delay, rate, loss and
 * pause frames are those of the model. What comes in by the line is a RoCE frame of the model when
 * the model can say it byte by byte (queued, marked and lost as any other), and else an ordinary
 * packet that passes as it is (ARP, TCP). What arrives at the port goes out by the line.
 *
 * Addresses are learned from the frames: every MAC and IP address outside is a station. A frame
 * with an address that a card of the simulation has (of ordinary packets: its MAC) is dropped.
 *
 * Needs RealtimeSimulatorImpl: GlobalValue SimulatorImplementationType, before anything else. Other
 * ns-3 devices that talk to the outside need GlobalValue ChecksumEnabled.
 *
 * A thread reads the line; all else is done by ns-3's. When the simulation is slower than real time
 * frames wait, then the line is no longer read, and whoever sends there loses some.
 */
class RnicLiveDevice : public RnicPortDevice
{
public:
    static TypeId GetTypeId();

    RnicLiveDevice();
    ~RnicLiveDevice() override;

    /** Largest packet taken from outside, without link header. */
    static constexpr uint32_t MTU_BYTES = 9216;

    /** What came by the line and did not get further, and what did. */
    struct Counters
    {
        uint64_t roce = 0;      //!< came in as frames of the model
        uint64_t opaque = 0;    //!< came in as ordinary packets
        uint64_t refused = 0;   //!< too short, too long, or for the other end of the line only
        uint64_t addresses = 0; //!< address of a card of the simulation, or too many addresses
        uint64_t overrun = 0;   //!< the port's queue was full
        uint64_t sent = 0;      //!< went out
        uint64_t nobody = 0;    //!< went out, but nobody was there
        uint64_t lost = 0;      //!< did not go out: too many waited
    };
    Counters GetLineCounters() const;

    // NetDevice
    void SetNode(Ptr<Node> node) override;
    Ptr<Object> GetSwitch() const override;

    // What RnicEngine calls.
    /** A frame arrived at this port; inside the engine's run. */
    void HandleOutside(const struct wire_frame &frame);

protected:
    void DoInitialize() override;
    void DoDispose() override;

private:
    using Bytes = std::vector<uint8_t>;

    void Open();
    bool IsOpen() const;
    void CheckSurroundings() const;
    void Read(struct live_line line);
    void ReadBurst(struct live_line *line, std::vector<Bytes> *burst);
    void Take();
    void Forward(const Bytes &bytes);
    bool Learn(const struct wire_packet &packet);
    bool Learn(const Bytes &bytes);
    bool MakeRoce(struct wire_frame *frame, const struct wire_packet &packet, const Bytes &bytes);
    void MakeOpaque(struct wire_frame *frame, const Bytes &bytes);
    void Flush();

    std::string m_where;                      //!< attribute Line
    std::unique_ptr<struct live_line> m_line; //!< the line, nullptr: never opened
    Counters m_counters;
    std::vector<uint8_t> m_scratch; //!< one encoded frame
    bool m_flushing;                //!< a Flush() is scheduled

    std::thread m_reader;
    int m_wake;                   //!< eventfd that ends the reader
    mutable std::mutex m_mutex;   //!< guards the following
    std::vector<Bytes> m_arrived; //!< read, not taken yet
    bool m_told;                  //!< a Take() is scheduled
    uint64_t m_readNobody;        //!< the reader's part of Counters::nobody
    uint64_t m_readUnfit;         //!< its part of Counters::refused: empty, beyond 65536 bytes
};

} // namespace ns3

#endif /* RNIC_LIVE_DEVICE_H */
