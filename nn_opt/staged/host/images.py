"""Images in files' formats, which Pillow reads."""

from __future__ import annotations

import io

import numpy as np

from nn_opt.staged.host.table import Array, Call, HostFault, host, tensor


@host("ImageDecoder", kind=tensor)
def image_decoder(call: Call) -> Array:
    """Return pixels as [height, width, channels] of bytes."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise HostFault("reading images takes Pillow: pip install nn-opt[images]") from None
    form = call.attrs.text("pixel_format", "RGB")
    if form not in ("RGB", "BGR", "Grayscale"):
        raise HostFault(f"pixel_format is '{form}', expected one of RGB, BGR, Grayscale")
    try:
        image = Image.open(io.BytesIO(call.array(0).tobytes()))
        pixels = np.asarray(image.convert("L" if form == "Grayscale" else "RGB"))
    except (UnidentifiedImageError, OSError) as error:
        raise HostFault(f"the input is no image: {error}") from None
    if form == "Grayscale":
        return pixels[:, :, None]
    return pixels[:, :, ::-1] if form == "BGR" else pixels
