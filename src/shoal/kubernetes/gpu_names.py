"""What a cluster calls its GPUs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GPUNames:
    """The device plugin's resource, and the node label that names the model of a node's GPUs."""

    resource: str = "nvidia.com/gpu"
    model_label: str = "shoal.dev/gpu-model"


GPU_NAMES = GPUNames()
