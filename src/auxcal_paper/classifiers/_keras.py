"""Read the weights of a Keras network from its HDF5 file into the layers of a torch network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from auxcal._core.errors import FileFormatError, MissingDataError
from auxcal._core.extras import needs


def keras_layers(path: Path) -> Iterator[tuple[str, list[Any]]]:
    """Yield the name and the arrays of every layer with weights, in order."""
    with needs("experiments"):
        import h5py
    if not path.is_file():
        raise MissingDataError(f"{path}: expected a file of weights; there is none. Put the published file there.")
    try:
        with h5py.File(path, "r") as file:
            root = file.get("model_weights", file)
            for name in _texts(root.attrs["layer_names"]):
                values = [np.asarray(root[name][key]) for key in _texts(root[name].attrs["weight_names"])]
                if values:
                    yield name, values
    except (OSError, KeyError) as error:
        raise FileFormatError(
            f"{path}: expected weights in the HDF5 layout of Keras; reading failed with {error}. Write it "
            f"with model.save_weights('name.h5')."
        ) from error


def _texts(values: Any) -> list[str]:
    return [value.decode() if isinstance(value, bytes) else str(value) for value in values]


def fill(network: nn.Sequential, layers: list[tuple[str, list[Any]]], path: Path) -> None:
    """Copy the arrays of Keras' layers into the layers of a network that have weights, one after the other."""
    ours = [layer for layer in network if list(layer.parameters())]
    if len(layers) != len(ours):
        raise FileFormatError(
            f"{path}: expected the {len(ours)} layers with weights of the network; got {len(layers)}. The file is of "
            f"another network."
        )
    for layer, (name, values) in zip(ours, layers, strict=True):
        _fill(layer, values, f"{path}: {name}")


def _fill(layer: nn.Module, values: list[Any], where: str) -> None:
    tensors: list[Tensor] = [layer.weight, layer.bias]  # type: ignore[list-item]
    if isinstance(layer, nn.Conv2d):
        values = [values[0].transpose(3, 2, 0, 1), *values[1:]] if values[0].ndim == 4 else values
    elif isinstance(layer, nn.Linear):
        values = [values[0].T, *values[1:]]
    else:
        tensors += [layer.running_mean, layer.running_var]  # type: ignore[list-item]
    expected, got = [tuple(tensor.shape) for tensor in tensors], [tuple(value.shape) for value in values]
    if expected != got:
        raise FileFormatError(
            f"{where}: expected weights of the shapes {expected}; got {got}. The file is of another network, "
            f"or of one for another number of classes."
        )
    with torch.no_grad():
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(torch.from_numpy(np.ascontiguousarray(value, dtype=np.float32)))
