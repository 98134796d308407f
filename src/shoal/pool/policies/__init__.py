"""Policies by name. One is made for a workload and for the models of an inventory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shoal.pool.policies.best_fit import BestFit
from shoal.pool.policies.fgd import COVERING, FragmentationGradientDescent
from shoal.pool.policies.policy import Policy
from shoal.pool.policies.shadow_price import ShadowPrice
from shoal.pool.request import Request
from shoal.pool.workload import Workload

POLICIES: dict[str, Callable[[Sequence[Request], Sequence[str]], Policy]] = {
    "best-fit": lambda requests, models: BestFit(),
    "fgd": lambda requests, models: FragmentationGradientDescent(Workload.of(requests, COVERING), models),
    "shadow-price": lambda requests, models: ShadowPrice(Workload.of(requests)),
}
"""From what is usually asked, and the inventory's models, to a policy."""
