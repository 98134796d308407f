"""What a cluster calls its GPUs, and where its nodes look for them."""

from __future__ import annotations

from dataclasses import dataclass

LABEL_PREFIX = "shoal.dev/gpu-"
"""Of the labels by which nodes tell of their GPUs."""

GPU_LEASE = f"{LABEL_PREFIX}lease"
"""Type of the condition of a pod that asks for GPUs of a pool: True while it has them."""

KUBELET_PLUGINS = "/var/lib/kubelet/device-plugins"
"""A node's folder, where its kubelet looks for device plugins."""


@dataclass(frozen=True, slots=True)
class GPUNames:
    """The device plugin's resource, and the node label that names the model of a node's GPUs."""

    resource: str = "nvidia.com/gpu"
    model_label: str = f"{LABEL_PREFIX}model"


GPU_NAMES = GPUNames()

GPU_RESOURCES = (GPU_NAMES.resource, "shoal.dev/gpu", "bitfusion.io/gpu")
"""By which pods ask for GPUs: of nodes, and of the pool under both names that it answers to."""
