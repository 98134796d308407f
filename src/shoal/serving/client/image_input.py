"""Images as inputs: the file's bytes for a model that decodes them itself, and pixels for one that does not."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.serving import dtypes
from shoal.serving.client.connection import TensorSpec
from shoal.serving.client.errors import ClientError
from shoal.serving.client.json_values import sendable
from shoal.serving.client.sources import Source

if TYPE_CHECKING:
    from PIL import Image

_MODES = {None: "RGB", 1: "L", 3: "RGB", 4: "RGBA"}
"""Pillow's name of an image with so many channels."""


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """`size` (height, width): resized to it. `scale`: what pixels, from 0 to 255, are multiplied by."""

    size: tuple[int, int] | None = None
    scale: float | None = None


def read(sources: Sequence[Source], name: str, spec: TensorSpec, options: ImageOptions) -> np.ndarray:
    """The images as one tensor, the batch in its first dimension. Raises ClientError."""
    dtype = sendable(name, spec)
    if dtype == dtypes.STRING:
        for source in sources:
            _open(source)  # a broken one is better named here than in the graph
        encoded = np.empty(len(sources), dtypes.STRING)
        encoded[:] = [source.content for source in sources]
        return encoded.reshape(()) if spec.shape == () and len(sources) == 1 else encoded
    rank = 4 if spec.shape is None else len(spec.shape)
    channels = spec.shape[3] if spec.shape is not None and rank == 4 else None
    if rank not in (3, 4) or channels not in _MODES:
        raise ClientError(
            f"{sources[0].name}: input {name} of shape {spec.shown_shape} takes no image",
            "[?, height, width, channels] with 1, 3 or 4 channels does, and [?, height, width]",
        )
    wanted = spec.shape[1:3] if spec.shape is not None else (None, None)
    pixels = [_pixels(source, "L" if rank == 3 else _MODES[channels], options) for source in sources]
    for source, each in zip(sources, pixels, strict=True):
        height, width = each.shape[:2]
        if wanted[0] not in (None, height) or wanted[1] not in (None, width) or each.shape != pixels[0].shape:
            height, width = (wanted[0] or pixels[0].shape[0], wanted[1] or pixels[0].shape[1])
            raise ClientError(
                f"{source.name}: {each.shape[0]}x{each.shape[1]} pixels (height x width), and input {name} takes "
                f"{height}x{width}",
                f"--image-size {height}x{width} resizes it",
            )
    batch = np.stack(pixels)
    if rank == 4 and batch.ndim == 3:
        batch = batch[..., np.newaxis]
    return _scaled(batch, name, dtype, options.scale)


def _open(source: Source) -> Image.Image:
    from PIL import Image

    try:
        image = Image.open(io.BytesIO(source.content))
        image.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as fault:
        said = str(fault) if "BytesIO" not in str(fault) else "in no format that Pillow knows"
        raise ClientError(f"{source.name}: cannot be read as an image: {said}") from None
    return image


def _pixels(source: Source, mode: str, options: ImageOptions) -> np.ndarray:
    image = _open(source).convert(mode)
    if options.size is not None:
        height, width = options.size
        image = image.resize((width, height), 2)  # bilinear, as tf.image.resize does by default
    return np.asarray(image)


def _scaled(pixels: np.ndarray, name: str, dtype: np.dtype, scale: float | None) -> np.ndarray:
    if dtype.kind == "f":
        return (pixels.astype(np.float64) * (1.0 if scale is None else scale)).astype(dtype)
    if scale is not None:
        raise ClientError(f"--scale, but input {name} takes whole numbers: {dtype.name}")
    if dtype.kind not in "iu" or np.iinfo(dtype).max < 255:
        raise ClientError(f"input {name} takes {dtype.name}, which has no room for pixels from 0 to 255")
    return pixels.astype(dtype)
