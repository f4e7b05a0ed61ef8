#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fixed point of DCQCN's fluid model: the queue N flows settle at on one link.

The model is that of DCQCN15 (equations 5 to 9) with the fixed point of Zhu et al., "ECN or Delay",
CoNEXT 2016. All rates are in packets a second, so the size of a packet matters. With R = C / N and
p the marking probability,

    a = 1 - (1-p)^(tau R)                 a CNP in tau
    alpha = 1 - (1-p)^(tau' R)
    b = p / ((1-p)^-B - 1)                increase events of the byte counter, per packet
    d = p / ((1-p)^-(T R) - 1)            of the timer
    c = b (1-p)^(F B)                     those of them beyond fast recovery
    e = d (1-p)^(F T R)

and p solves a^2 alpha / ((b + d) (c + e)) = tau^2 R_AI R. The queue is where the marking curve has
that p; a p above its Pmax is met nowhere on the ramp, and the queue is held at the step at Kmax.
"""

import argparse
import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Dcqcn:
    """The paper's values at 40 Gb/s; times in seconds, sizes in bytes, rates in bits a second."""

    line_bps: float = 40e9
    packet_bytes: float = 1000
    tau_s: float = 50e-6            # CNP interval
    alpha_timer_s: float = 55e-6
    increase_timer_s: float = 55e-6
    byte_counter_bytes: float = 10e6
    fast_recovery: int = 5
    rai_bps: float = 40e6
    kmin_bytes: float = 5e3
    kmax_bytes: float = 200e3
    pmax: float = 0.01

    def packets(self, bits):
        return bits / (8 * self.packet_bytes)


@dataclasses.dataclass(frozen=True)
class FixedPoint:
    p: float
    queue_bytes: float
    on_ramp: bool                   # False: p is above Pmax, the queue is held at Kmax


def _imbalance(p, flows, model):
    """log of the left side over the right side: rises with p, 0 at the fixed point."""
    rate = model.packets(model.line_bps) / flows
    keep = math.log1p(-p)           # of (1-p)^x is exp(x * keep)

    def events(packets):  # p / ((1-p)^-packets - 1), which would overflow
        return -p * math.exp(packets * keep) / math.expm1(packets * keep)

    in_timer = model.increase_timer_s * rate
    in_counter = model.byte_counter_bytes / model.packet_bytes
    a = -math.expm1(model.tau_s * rate * keep)
    alpha = -math.expm1(model.alpha_timer_s * rate * keep)
    b, d = events(in_counter), events(in_timer)
    c = b * math.exp(model.fast_recovery * in_counter * keep)
    e = d * math.exp(model.fast_recovery * in_timer * keep)
    right = model.tau_s ** 2 * model.packets(model.rai_bps) * rate
    increases = (b + d) * (c + e)
    return math.log(a * a * alpha / increases / right) if increases > 0 else math.inf


def fixed_point(flows, model=Dcqcn()):
    """@return FixedPoint of that many flows; p to 12 digits, by bisection."""
    if flows < 1:
        raise ValueError("at least one flow")
    low, high = 1e-9, 0.5
    while high / low > 1 + 1e-12:
        middle = math.sqrt(low * high)
        if _imbalance(middle, flows, model) < 0:
            low = middle
        else:
            high = middle
    ramp = model.kmin_bytes + low / model.pmax * (model.kmax_bytes - model.kmin_bytes)
    on_ramp = low <= model.pmax
    return FixedPoint(low, ramp if on_ramp else model.kmax_bytes, on_ramp)


def approximate_p(flows, model=Dcqcn()):
    """The closed form for small p, 19 to 30 % too large here."""
    line = model.packets(model.line_bps)
    counter = model.byte_counter_bytes / model.packet_bytes
    events = 1 / counter + flows / (model.increase_timer_s * line)
    return (model.packets(model.rai_bps) * flows ** 2 / (model.alpha_timer_s * line ** 2)
            * events ** 2) ** (1 / 3)


def main():
    parser = argparse.ArgumentParser(description="Fixed point of DCQCN's fluid model at 40 Gb/s.")
    parser.add_argument("flows", nargs="*", type=int, default=list(range(2, 20)))
    parser.add_argument("--packet", type=float, default=1000, metavar="BYTES",
                        help="size of a packet (default 1000)")
    options = parser.parse_args()
    model = Dcqcn(packet_bytes=options.packet)
    print("flows  p (%)   queue (KB)")
    for flows in options.flows:
        point = fixed_point(flows, model)
        where = f"{point.queue_bytes / 1e3:.1f}" if point.on_ramp else "at the Kmax step"
        print(f"{flows:5}  {100 * point.p:.3f}   {where}")


if __name__ == "__main__":
    main()
