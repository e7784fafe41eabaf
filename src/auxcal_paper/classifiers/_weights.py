"""Read files of weights: only numbers, never code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor, nn

from auxcal._core.errors import FileFormatError, MissingDataError


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """Read a PyTorch checkpoint: a state dict, or a dict that holds one under "state_dict" or "net".

    The prefix "module." that `nn.DataParallel` leaves in the names is dropped.
    """
    if not path.is_file():
        raise MissingDataError(f"{path}: expected a file of weights; there is none. Put the published file there.")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # another kind of file can make the readers of zip and pickle raise nearly anything
        raise FileFormatError(
            f"{path}: expected a PyTorch checkpoint of tensors only; reading it failed with "
            f"{type(error).__name__}. Get the published file again; one that holds code is refused."
        ) from error
    for key in ("state_dict", "net"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    if not isinstance(content, Mapping) or not all(isinstance(value, Tensor) for value in content.values()):
        raise FileFormatError(
            f"{path}: expected a state dict, a mapping of names to tensors; got {type(content).__name__}. "
            f"Save one with torch.save(network.state_dict(), path)."
        )
    return {name.removeprefix("module."): value for name, value in content.items()}


def load_weights(
    make: Callable[[], nn.Module], path: Path, renamed: Mapping[str, str] = MappingProxyType({})
) -> nn.Module:
    """Return a network in evaluation mode with the weights of a checkpoint; refuse those of another network.

    `renamed` maps names of the checkpoint to those of the network, where they differ.
    """
    found = read_state_dict(path)  # before the network: a large one takes seconds to make
    weights = {renamed.get(name, name): value for name, value in found.items()}
    network = make()
    expected = network.state_dict()
    for name, tensor in expected.items():
        if name in weights and weights[name].shape != tensor.shape:
            raise FileFormatError(
                f"{path}: expected {name!r} of shape {tuple(tensor.shape)}; got "
                f"{tuple(weights[name].shape)}. The file is of another network, or of one for another number "
                f"of classes."
            )
    missing = [name for name in expected if name not in weights and not name.endswith("num_batches_tracked")]
    foreign = [name for name in weights if name not in expected]
    if missing or foreign:
        raise FileFormatError(
            f"{path}: expected the weights of {type(network).__name__}; "
            f"{_some('missing', missing)}{_some('not known', foreign)}the file is of another network."
        )
    network.load_state_dict(dict(weights), strict=False)
    return network.eval()


def _some(what: str, names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{what} are {shown}{f' and {len(names) - 3} more' if len(names) > 3 else ''}; " if names else ""
