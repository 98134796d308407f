from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.resources.gpu_model import gpu_model

LABEL = r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?"


@pytest.mark.parametrize(
    ("product", "model"),
    [
        ("NVIDIA A100-SXM4-40GB", "A100"),
        ("NVIDIA A100 80GB PCIe", "A100"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 NVL", "H100"),
        ("Tesla T4", "T4"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("NVIDIA GeForce RTX 3090", "RTX-3090"),
        ("NVIDIA RTX A6000", "RTX-A6000"),
        ("A100", "A100"),
        ("NVIDIA", "NVIDIA"),
        ("???", ""),
    ],
)
def test_what_people_call_it(product: str, model: str) -> None:
    assert gpu_model(product) == model


@given(st.text(max_size=100))
def test_whatever_a_driver_says_becomes_the_value_of_a_label(product: str) -> None:
    assert re.fullmatch(LABEL, gpu_model(product))
