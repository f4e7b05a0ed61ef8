/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * What changes during a run, for the pictures: rates, queues and use of links sampled at engine
 * level, pauses of every MAC and CNPs as they happen, passages of blocks when asked for.
 */
#ifndef RNIC_SERIES_H
#define RNIC_SERIES_H

#include "rnic-engine.h"
#include "rnic-job.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/** @ingroup rnic
 * Samples of many things: a row for each time, written one behind another, since that costs least.
 */
template <typename T>
class RnicSampleTable
{
public:
    void SetWidth(size_t width)
    {
        m_width = width;
    }

    size_t GetWidth() const
    {
        return m_width;
    }

    /** The next cell of the row under way. */
    void Add(T value)
    {
        m_cells.push_back(value);
    }

    T At(size_t row, size_t column) const
    {
        return m_cells[row * m_width + column];
    }

    /** Keep these rows, which are in order. */
    void Keep(const std::vector<size_t> &rows)
    {
        for (size_t i = 0; i < rows.size(); i++)
        {
            std::copy_n(m_cells.begin() + static_cast<ptrdiff_t>(rows[i] * m_width), m_width,
                        m_cells.begin() + static_cast<ptrdiff_t>(i * m_width));
        }
        m_cells.resize(rows.size() * m_width);
    }

private:
    size_t m_width = 0;
    std::vector<T> m_cells;
};

/** @ingroup rnic
 * Samples queue pairs, queues and links. Reads only, so a run is the same with any period. */
class RnicSeries
{
public:
    /**
     * @param names     tables wanted: rates, queues, pauses, cnps, links
     * @param periodPs  time between samples; 0: begins at 1 us and doubles, with every other sample
     *                  thrown away, whenever there are too many
     */
    RnicSeries(RnicJob &job, const std::vector<std::string> &names, uint64_t periodPs);

    /** A card's event, as RnicJob's observer has it; takes the CNPs. */
    void Record(uint32_t port, const struct rnic_event &event);

    /** First sample now; before the run. Also listens to every port's pauses. */
    void Start();

    /** Write the tables as NAME.csv. @returns false: a file could not be written. */
    bool Write(const std::string &folder, uint64_t endPs, std::string *failed) const;

    /** @returns what the tables leave out and why one is empty. */
    const std::vector<std::string> &GetNotes() const;
    uint64_t GetPeriodPs() const;

    /** @returns "host2" for a card's port, "switch0 port 2" for a switch's. */
    static std::string PortName(uint32_t port);

private:
    struct Queue
    {
        const struct fabric_switch *device;
        uint32_t port; //!< of the switch
        uint32_t prio;
        std::string name; //!< of its port
    };
    struct Cnp
    {
        uint64_t timePs;
        const RnicJob::Qp *qp; //!< that must slow down
        uint64_t rateBps;      //!< after it
    };
    struct Pause
    {
        uint32_t port;
        uint8_t prio;
        uint64_t startPs, endPs;
    };

    static void OnSample(void *ctx, uint64_t nowPs);
    static void OnPause(RnicSeries *self, uint32_t port, uint8_t prio, bool paused);
    void Sample(uint64_t nowPs);
    void Thin();
    void Arm(uint64_t nowPs);
    void Paused(uint32_t port, uint8_t prio, bool paused);
    bool Wants(const std::string &name) const;
    void ChooseQps();
    void ChooseQueues();
    void ChooseLinks();
    bool WriteRates(const std::string &path) const;
    bool WriteQueues(const std::string &path) const;
    bool WritePauses(const std::string &path, uint64_t endPs) const;
    bool WriteCnps(const std::string &path) const;
    bool WriteLinks(const std::string &path) const;

    RnicJob &m_job;
    std::vector<std::string> m_names;
    uint64_t m_periodPs;
    bool m_fixed;
    std::vector<const RnicJob::Qp *> m_qps;
    std::vector<Queue> m_queues;
    std::vector<uint64_t> m_times;
    RnicSampleTable<uint64_t> m_rates; //!< by queue pair
    RnicSampleTable<float> m_alphas;   //!< by queue pair
    RnicSampleTable<uint64_t> m_bytes; //!< by queue
    RnicSampleTable<uint64_t> m_busy;  //!< by engine port: sum of busy time
    std::vector<Pause> m_pauses;
    std::vector<Cnp> m_cnps;
    std::map<std::pair<uint32_t, uint32_t>, const RnicJob::Qp *> m_senders; //!< by port and QPN
    std::vector<std::string> m_notes;
};

/** @ingroup rnic
 * Writes blocks.csv: one line for each passage of a block (trace = true). */
class RnicBlockTrace
{
public:
    /** @param path  file to make. */
    explicit RnicBlockTrace(const std::string &path);
    void Record(uint32_t port, const struct rnic_event &event);
    /** @returns whether everything was written. */
    bool Close();
    /** @returns whether something could not be written; then nothing more is. */
    bool IsBroken() const;
    int GetError() const; //!< errno of it

private:
    std::ofstream m_out;
    int m_error = 0;
};

} // namespace ns3

#endif /* RNIC_SERIES_H */
