"""Each policy against what it says of itself, computed slowly."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.pool import GPU, Host, Inventory, Placement, Request, Workload, place
from shoal.pool.policies import POLICIES
from shoal.pool.policies.fgd import FragmentationGradientDescent
from shoal.pool.policies.policy import States
from shoal.pool.policies.shadow_price import ShadowPrice, worth_of_rest

MODELS = ["A", "B"]

kinds = st.builds(
    Request,
    gpus=st.integers(0, 3),
    milli=st.sampled_from([100, 470, 500, 810, 1000]),
    cpu_milli=st.sampled_from([0, 1_000, 4_000]),
    models=st.frozensets(st.sampled_from(MODELS), max_size=1),
)
shares = st.sampled_from([0, 100, 190, 500, 530, 900, 1000])


def fragmentation(cpu: int, gpus: list[int], model: str, workload: Workload) -> float:
    """F_n(M), line by line as the paper has it."""
    total = 0.0
    for kind, popularity in zip(workload.kinds, workload.popularity, strict=True):
        large = [free for free in gpus if free >= kind.milli]
        runs = kind.gpus > 0 and cpu >= kind.cpu_milli and len(large) >= kind.gpus
        if kind.models and model not in kind.models:
            runs = False
        small = [free for free in gpus if free < kind.milli]
        total += popularity * (sum(small) if runs else sum(gpus))
    return total


@given(
    st.lists(kinds, min_size=1, max_size=6),
    st.integers(0, 5_000),
    st.lists(shares, min_size=3, max_size=3),
    st.booleans(),
)
def test_fragmentation_is_the_papers(asked, cpu, gpus, second):
    workload = Workload.of(asked)
    model = int(second)
    host = States(np.array([cpu]), np.array([gpus]), np.full((1, 3), model))
    found = FragmentationGradientDescent(workload, MODELS).fragmentation(host)[0]
    assert found == pytest.approx(fragmentation(cpu, gpus, MODELS[model], workload))


def test_fgd_scores_by_a_sigmoid_of_the_fall_cut_to_a_whole_number():
    policy = FragmentationGradientDescent(Workload.of([Request(milli=600)]), MODELS)
    before = States(np.array([0, 0]), np.array([[1000], [500]]), np.zeros((2, 1), np.int64))
    after = States(np.array([0, 0]), np.array([[500], [0]]), np.zeros((2, 1), np.int64))
    # 1000 free has no fragment and 500 is all fragment; 500 free was one, and is gone.
    assert policy.price(before, after, np.array([0, 1])).tolist() == [
        -math.floor(100 / (1 + math.exp(0.5))),
        -math.floor(100 / (1 + math.exp(-0.5))),
    ]


def test_a_workload_covers_the_most_frequent_kinds():
    asked = [Request(gpus=1)] * 6 + [Request(gpus=2, memory_mib=i) for i in range(3)] + [Request(gpus=4)]
    assert Workload.of(asked, covering=0.85).kinds == (Request(gpus=1), Request(gpus=2))
    assert Workload.of(asked).popularity.tolist() == [0.6, 0.3, 0.1]
    by_memory = [Request(gpu_memory_mib=4_000)]
    assert Workload.of(by_memory, gpu_memory_mib=16_000).kinds == (Request(milli=250),)
    assert Workload.of(by_memory).kinds == (Request(),)


@given(
    st.dictionaries(
        st.sampled_from([100, 160, 230, 320, 470, 500, 650, 810]), st.integers(1, 50), min_size=1, max_size=4
    )
)
def test_rests_are_worth_what_the_dual_of_the_best_packing_pays(counts):
    """Weak and strong duality, over every pattern: no pattern pays more than its GPU, and all pay what they must."""
    asked = [Request(milli=share) for share, n in counts.items() for _ in range(n)]
    worth = worth_of_rest(Workload.of(asked))
    assert worth[0] == 0
    assert worth[1000] == pytest.approx(1)
    assert (np.diff(worth) >= 0).all()
    patterns = [
        pattern
        for pattern in itertools.product(*(range(1000 // share + 1) for share in counts))
        if sum(n * share for n, share in zip(pattern, counts, strict=True)) <= 1000
    ]
    for pattern in patterns:
        assert sum(n * worth[share] for n, share in zip(pattern, counts, strict=True)) <= 1 + 1e-6
    from scipy.optimize import linprog

    fewest = linprog(np.ones(len(patterns)), A_ub=-np.array(patterns).T, b_ub=-np.array(list(counts.values()))).fun
    assert sum(n * worth[share] for share, n in counts.items()) == pytest.approx(fewest, rel=1e-6)


def test_a_whole_gpu_is_worth_one_though_nobody_asks_for_it():
    assert worth_of_rest(Workload.of([Request(gpus=0)]))[[999, 1000]].tolist() == [0, 1]


def gpu_of(policy: str, asked: list[Request], free: list[int], request: Request) -> int:
    """Which GPU of a host is chosen, when so much of each is free."""
    inventory = Inventory([Host("h", 100_000, 0, (GPU("A"),) * len(free))])
    inventory.free[0] = free
    found = place(inventory, request, POLICIES[policy](asked, inventory.models))
    assert isinstance(found, Placement)
    return found.shares[0].gpu


def test_a_share_goes_where_it_fits_perfectly():
    usual = [Request(milli=810)] * 10 + [Request(milli=470)] * 8 + [Request(milli=160)]
    assert gpu_of("shadow-price", usual, [1000, 530, 190], Request(milli=160)) == 2
    assert gpu_of("shadow-price", usual, [1000, 810, 530], Request(milli=470)) == 2
    assert gpu_of("shadow-price", usual, [1000, 810, 530], Request(milli=810)) == 1


def test_cpu_alone_keeps_off_hosts_whose_gpus_need_it():
    usual = [Request(cpu_milli=10_000)] * 4 + [Request(gpus=0, cpu_milli=10_000)]
    hosts = [Host("tight", 40_000, 0, (GPU("A"),) * 4), Host("rich", 90_000, 0, (GPU("A"),) * 2)]
    inventory = Inventory(hosts)
    found = place(inventory, Request(gpus=0, cpu_milli=20_000), ShadowPrice(Workload.of(usual)))
    assert isinstance(found, Placement)
    assert found.host == "rich"
    assert ShadowPrice(Workload.of(usual)).cpu_of_gpu == 10_000


def test_best_fit_leaves_the_least():
    inventory = Inventory([Host("large", 64_000, 0, (GPU("A"),) * 8), Host("small", 16_000, 0, (GPU("A"),) * 2)])
    found = place(inventory, Request(cpu_milli=8_000), POLICIES["best-fit"]([], inventory.models))
    assert isinstance(found, Placement)
    assert found.host == "small"
