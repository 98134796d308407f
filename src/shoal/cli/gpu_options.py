"""Options that say what a cluster calls its GPUs."""

from __future__ import annotations

from typing import Annotated

import typer

GPUResource = Annotated[str, typer.Option(help="What the cluster's device plugin calls a GPU.")]
GPUModelLabel = Annotated[str, typer.Option(help="The node label that names the model of a node's GPUs.")]
