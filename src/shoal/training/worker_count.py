"""How many workers a job is best run with, judged by the speeds that were measured.

A number of workers is worth its cost if, against the next smaller number that was measured, it brings at least the
wanted share of linear speed-up. The number climbs while that holds, and goes back where it does not; a number that was
found too large is known from then on. Speeds are noisy, so a share counts as more or less than wanted only beyond a
tolerance, the one of HorizontalPodAutoscaler
(https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/, "Algorithm details"). Whatever lies within
it changes nothing, which keeps the number from going to and fro.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shoal.resources.scaling import ScalingSpec

TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class Advice:
    """How many workers there shall be, and why: in one word, and for people."""

    workers: int
    reason: str
    message: str


def advise(policy: ScalingSpec, workers: int, rates: Mapping[int, float], others: int = 0) -> Advice:
    """What follows from `rates`: steps/s of all together, by number of workers, that of `workers` among them.

    `others` train beside the workers (a chief), so they count where speeds are compared.
    """
    below = max((n for n in rates if n < workers and n >= policy.min_workers), default=None)
    if below is not None and (share := _share(rates, below, workers, others)) < policy.gain * (1 - TOLERANCE):
        return Advice(below, "TooLittleGain", _told(rates, below, workers, share))
    above = min((n for n in rates if workers < n <= policy.max_workers), default=None)
    if above is None and workers < policy.max_workers:
        why = "how many would be faster is not known yet"
        if below is not None:
            share = _share(rates, below, workers, others)
            if share < policy.gain * (1 + TOLERANCE):
                return Advice(workers, "EnoughGain", _told(rates, below, workers, share))
            why = _told(rates, below, workers, share)
        return Advice(min(workers + policy.added, policy.max_workers), "MoreMayPay", why)
    if above is not None:
        share = _share(rates, workers, above, others)
        if share >= policy.gain * (1 + TOLERANCE):
            return Advice(above, "MorePay", _told(rates, workers, above, share))
    if below is None and workers > policy.min_workers:
        why = "whether fewer would do is not known yet"
        return Advice(max(workers - policy.added, policy.min_workers), "FewerMayDo", why)
    if above is not None:
        return Advice(workers, "MoreDoNotPay", _told(rates, workers, above, share))
    return Advice(workers, "AtMaximum", f"there are {workers} workers, the most that are allowed")


def _share(rates: Mapping[int, float], fewer: int, more: int, others: int) -> float:
    """Which share of linear speed-up the step from `fewer` to `more` workers brings; infinite from a standstill."""
    if rates[fewer] <= 0:
        return float("inf") if rates[more] > 0 else 0.0
    return (rates[more] / rates[fewer] - 1) / ((more + others) / (fewer + others) - 1)


def _told(rates: Mapping[int, float], fewer: int, more: int, share: float) -> str:
    speeds = f"{rates[fewer]:.3g} steps/s with {fewer}, {rates[more]:.3g} with {more}"
    return f"{speeds}: {share:.0%} of a linear gain" if share != float("inf") else speeds
