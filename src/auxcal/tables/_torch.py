""".pt and .pth: tensors by name, such as those of `torch.save({"logits": ..., "y": ...}, path)`; only read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from auxcal._core.arrays import to_numpy
from auxcal._core.errors import FileFormatError
from auxcal._core.extras import needs
from auxcal.tables._arrays import arrays_source
from auxcal.tables._format import Source


@contextmanager
def open_torch(path: Path) -> Iterator[Source]:
    """Read the tensors of a dict that `torch.save` wrote; nothing in the file can run code."""
    with needs("torch"):
        import torch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of how the file was written: it is read, or refused in our words
        saved = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(saved, dict):
        raise FileFormatError(
            f"expected a dict with logits and y; got {type(saved).__name__}. Write it with "
            f'torch.save({{"logits": logits, "y": y}}, path).'
        )
    tensors = {str(name): value for name, value in saved.items() if isinstance(value, torch.Tensor)}
    for name, tensor in tensors.items():
        if tensor.layout == torch.strided and tensor.nbytes > tensor.untyped_storage().nbytes():
            raise FileFormatError(
                f"{name!r} has more entries than the file holds, as an expanded tensor has. Save {name}.contiguous()."
            )
    yield arrays_source({name: to_numpy(tensor, name) for name, tensor in tensors.items()})
