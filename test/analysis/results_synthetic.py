# SPDX-License-Identifier: GPL-2.0-only
"""Results folders made up for tests of the pictures: a ring, an incast, and what is missing."""

import json
import os
import random


def write(folder, summary, **tables):
    """Write summary.json and NAME.csv of each table: [header, row, ...]."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "summary.json"), "w", encoding="ascii") as file:
        json.dump(summary, file)
    for name, rows in tables.items():
        with open(os.path.join(folder, name + ".csv"), "w", encoding="ascii") as file:
            file.writelines(",".join(str(cell) for cell in row) + "\n" for row in rows)


HEADERS = {
    "flows": "id,src,dst,verb,bytes,start_ps,end_ps,cqe_ps,fct_ps,ideal_ps,slowdown,"
             "retransmitted_packets,cnps".split(","),
    "steps": "collective,rank,step,phase,chunk,bytes,send_start_ps,recv_end_ps".split(","),
    "rates": "time_ps,qp,rate_bps,alpha".split(","),
    "queues": "time_ps,port,class,queue_bytes".split(","),
    "pauses": "start_ps,end_ps,port,class".split(","),
    "cnps": "time_ps,qp,rate_bps".split(","),
    "links": "time_ps,port,busy_ratio".split(","),
}


def table(name, rows):
    return [HEADERS[name]] + rows


def ring(folder, ranks=4, delayed=None, equal_rates=True):
    """A ring all-reduce of 64 MiB; one host may start late."""
    step_ps, steps = 1371382000, 2 * (ranks - 1)
    rows = []
    for rank in range(ranks):
        late = 400000000 if rank == delayed else 0
        for step in range(steps):
            start = step * step_ps + (late if step == 0 else 400000000 if delayed is not None
                                      and step > (rank - delayed) % ranks else 0)
            phase = "reduce-scatter" if step < ranks - 1 else "all-gather"
            rows.append(["allreduce", rank, step + 1, phase, (rank - step) % ranks, 16777216,
                         start, (step + 1) * step_ps + (400000000 if delayed is not None else 0)])
    end = max(row[-1] for row in rows)
    rates, queues = [], []
    for tick in range(400):
        time = end * tick // 400
        for rank in range(ranks):
            rate = 1e11 if equal_rates else 1e11 / (1 + (tick * (rank + 3) % 97) / 50)
            rates.append([time, f"{rank}->{(rank + 1) % ranks}", int(rate), 0.5])
        queues.append([time, "switch0.port1", 3, 4166 * (tick % 3)])
        queues.append([time, "switch0.port2", 3, 4166 * (tick % 2)])
    summary = {
        "scenario": f"scenarios/allreduce-ring-{ranks}.toml", "sim_end_ps": end,
        "parameters": {"switch.ecn_kmin": {"value": 400000, "unit": "bytes"},
                       "switch.ecn_kmax": {"value": 1600000, "unit": "bytes"}},
        "collectives": [{"name": "allreduce", "algorithm": "ring", "ranks": ranks,
                         "bytes": 67108864, "steps": steps, "start_ps": 0, "time_ps": end,
                         "ideal_ps": steps * step_ps - 1000, "verified": True}],
        "flows": {"count": ranks * steps, "completed": ranks * steps},
        "pfc": {"pauses": 0, "resumes": 0}, "ecn_marked": 0, "cnps_sent": 0,
    }
    write(folder, summary, steps=table("steps", rows), rates=table("rates", rates),
          queues=table("queues", queues), pauses=table("pauses", []))


def incast(folder, senders=16, unfinished=False, seed=1):
    """Senders to one receiver with a queue that passes Kmax, cuts and pauses."""
    end = senders * 540000000
    flows = []
    for sender in range(senders):
        done = "" if unfinished and sender == 3 else end - 1000000 * (senders - sender)
        flows.append([sender, sender, senders, "write", 6000000, 0, done, done, done, end, 1.0,
                      3 * sender if sender % 5 == 1 else 0, 40])
    rates, queues, pauses = [], [], []
    for tick in range(300):
        time = end * tick // 300
        for sender in range(senders):
            rate = 4e10 / (1 + ((tick * 7 + sender * 13 * seed) % 60) / 6)
            rates.append([time, f"{sender}->{senders}", int(rate), 0.5])
        queues.append([time, f"switch0 port {senders}", 3,
                       2500000 * ((tick * 37 * seed) % 100) // 100])
    for sender in range(senders):
        for burst in range(3):
            start = 50000000 * burst + 1000000 * sender
            pauses.append([start, start + 20000000, f"host{sender}", 3])
    cnps = [[50000000 * (tick + 1) + 1000 * sender, f"{sender}->{senders}", 1000000000]
            for sender in range(senders) for tick in range(1 + sender % 7)]
    # Busy for three quarters of the time, and for one.
    links = [row for port, first in ((f"switch0 port {senders}", 0.75), ("host0", 0.25))
             for row in ([100, port, 1], [int(end * first), port, 1],
                         [int(end * first) + 100, port, 0], [end, port, 0])]
    summary = {
        "scenario": f"incast-{senders}.toml", "sim_end_ps": end, "status": "complete",
        "seed": seed,
        "parameters": {"topology": {"kind": {"value": "star", "unit": "name"}},
                       "switch": {"ecn_kmin_bytes": 5000, "ecn_kmax_bytes": 200000,
                                  "lossless": True, "reserved_bytes": 4096, "alpha": 0.125}},
        "switches": [{"pool_bytes": 3600000}],
        "collectives": [], "flows": {"count": senders, "completed": senders - unfinished},
        "pfc": {"pauses": 48, "resumes": 48}, "ecn_marked": 5120, "cnps_sent": 640,
    }
    write(folder, summary, flows=table("flows", flows), rates=table("rates", rates),
          queues=table("queues", queues), pauses=table("pauses", pauses),
          cnps=table("cnps", cnps), links=table("links", links))


def ring_ideal_ps(ranks, size):
    return 2 * (ranks - 1) * (2335200 + size // ranks * 80)


def ring_time_ps(ranks, size, seed=1):
    return ring_ideal_ps(ranks, size) * (100 + seed) // 100


def small_ring(folder, ranks, size, seed=1, cc="none", status="complete", late=()):
    """Only what a comparison asks of an all-reduce."""
    time = ring_time_ps(ranks, size, seed)
    latency = {"none": 0, "dcqcn": 250000}[cc]  # changes whenever cc does
    write(folder, {
        "scenario": "ring.toml", "seed": seed, "status": status, "sim_end_ps": time,
        "parameters": {"topology": {"hosts": {"value": ranks, "unit": "count"},
                                    "rate": {"value": 100000000000, "unit": "bps"}},
                       "nic": {"rx_latency": {"value": latency, "unit": "ps"}},
                       "cc": {"kind": {"value": cc, "unit": "name"}},
                       "run": {"seed": {"value": seed, "unit": "count"}},
                       "workload": {"bytes": {"value": size, "unit": "bytes"},
                                    **{f"host_delay.{host}": {"value": delay, "unit": "ps"}
                                       for host, delay in enumerate(late)}}},
        "collectives": [{"name": "allreduce", "algorithm": "ring", "ranks": ranks, "bytes": size,
                         "time_ps": time, "ideal_ps": ring_ideal_ps(ranks, size),
                         "busbw_bps": 8e12 * size / time * 2 * (ranks - 1) / ranks}]})


def traffic(folder, cc, seed):
    """Flows of many sizes; congestion control makes the tail shorter."""
    dice = random.Random(f"{cc} {seed}")
    rows = []
    for number in range(400):
        size = int(10 ** dice.uniform(2, 7))
        slowdown = 1 + dice.expovariate(0.2 if cc == "none" else 0.8)
        rows.append([number, number % 8, 8, "write", size, 0, 1000, 1000, 1000, 1000, slowdown,
                     0, 0])
    write(folder, {
        "scenario": "traffic.toml", "seed": seed, "status": "complete", "collectives": [],
        "parameters": {"cc": {"kind": {"value": cc, "unit": "name"}}},
        "flows": {"count": 400, "completed": 400}}, flows=table("flows", rows))
