"""What a model of GPU is called in manifests, node labels and the pool: A100, T4, RTX-A6000.

Drivers tell more: vendor and product line, form factor, memory. None of it is what people write into `gpu.models`.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"nvidia|tesla|quadro|geforce|grid", re.IGNORECASE)
_BUILD = re.compile(r"sxm\d*|pcie?|nvl|hbm\d\w*|\d+gb", re.IGNORECASE)
LONGEST = 63
"""Of a label's value."""


def gpu_model(product: str) -> str:
    """The model of a product as its driver names it: `NVIDIA A100-SXM4-40GB` is an `A100`. Always a valid value of a
    Kubernetes label; empty where no letter and no digit is in the name."""
    words = [word for word in re.split(r"[^A-Za-z0-9._]+", product) if word]
    kept = [word for word in words if not _LINE.fullmatch(word) and not _BUILD.fullmatch(word)]
    return label_value("-".join(kept or words))


def label_value(text: str) -> str:
    """The nearest text that Kubernetes takes for a label's value."""
    dashed = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:LONGEST]
    return re.sub(r"^[^A-Za-z0-9]+|[^A-Za-z0-9]+$", "", dashed)
