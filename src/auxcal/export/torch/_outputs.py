"""The output of a classifier: logits in one of the usual forms, and features from a part of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from auxcal._core.arrays import to_numpy
from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal.export.torch._shown import shown

with needs("torch"):
    import torch
    from torch import nn

OfOutput: TypeAlias = Callable[[Any, int], "np.ndarray[Any, Any] | None"]
"""Gives the features of a batch, from the output of the classifier and the number of rows."""


def logits_of(output: Any) -> np.ndarray[Any, Any]:
    """Return the logits in the output of a classifier as an array of their own."""
    return _own(find_logits(output), "logits")


def find_logits(output: Any) -> Any:
    """Return the logits in the output of a classifier: itself, `.logits`, ["logits"], or the one matrix in a tuple.

    Examples
    --------
    >>> import numpy as np
    >>> from auxcal.export.torch._outputs import find_logits
    >>> loss, logits = np.array(0.1), np.zeros((4, 3))
    >>> [find_logits(output).shape for output in (logits, {"logits": logits}, (loss, logits))]
    [(4, 3), (4, 3), (4, 3)]
    """
    found = _candidates(output)
    if len(found) != 1 or not _is_array(found[0], ndim=2):
        raise InvalidInputError(
            f"module must give logits, an array of shape (batch, K): alone, as .logits, under 'logits' in a dict, or "
            f"as the only one with two dimensions in a tuple; got {shown(output)}. Wrap it in a module that returns "
            f"the logits alone."
        )
    return found[0]


def _candidates(output: Any) -> list[Any]:
    if isinstance(output, Mapping):
        return [output.get("logits")]
    if hasattr(output, "logits"):
        return [output.logits]
    if isinstance(output, tuple | list):
        return [each for each in output if _is_array(each, ndim=2)]
    return [output]


def _is_array(value: Any, ndim: int) -> bool:
    return hasattr(value, "__array__") and len(getattr(value, "shape", ())) == ndim


def _own(array: Any, name: str) -> np.ndarray[Any, Any]:
    # A view would keep all that it is a part of in memory, and a buffer that the classifier uses again would change.
    return np.array(to_numpy(array, name))


@contextmanager
def features_from(module: Any, features: str | Callable[[Any], Any] | None) -> Iterator[OfOutput]:
    """Yield a function that gives the features of each batch: the output of a submodule, or a user's function."""
    if features is None:
        yield lambda output, n_rows: None
    elif isinstance(features, str):
        with outputs_of(module, features) as outputs:
            yield lambda output, n_rows: _rows(outputs, f"the part {features!r}", n_rows)
    elif callable(features) and not isinstance(features, nn.Module):
        yield lambda output, n_rows: _rows([features(output)], "the function", n_rows)
    else:
        raise InvalidInputError(
            f"features must be the name of a part of the module, as in module.named_modules(), or a function of its "
            f"output; got {shown(features)}."
        )


@contextmanager
def outputs_of(module: Any, name: str) -> Iterator[list[Any]]:
    """Yield a list that collects the outputs of the named submodule, for as long as the block lasts."""
    outputs: list[Any] = []
    hook = named_part(module, name).register_forward_hook(lambda part, inputs, output: outputs.append(output))
    try:
        yield outputs
    finally:
        hook.remove()


def named_part(module: Any, name: str) -> nn.Module:
    """Return the submodule of that name."""
    if not isinstance(module, nn.Module):
        raise InvalidInputError(
            f"features={name!r} names a part of an nn.Module; got {shown(module)}. Give the module itself, or as "
            f"features a function of what it returns."
        )
    if isinstance(module, torch.jit.ScriptModule):
        raise InvalidInputError(
            f"features={name!r} names a part of a TorchScript module, which does not show what its parts give. Give "
            f"the module that it was made from, or as features a function of what it returns."
        )
    parts = dict(module.named_modules())
    if name not in parts:
        names = ", ".join(repr(part) for part in parts if part)
        raise InvalidInputError(f"features must name a part of the module, one of {names or 'none'}; got {name!r}.")
    return parts[name]


def _rows(outputs: list[Any], source: str, n_rows: int) -> np.ndarray[Any, Any]:
    return _own(take_rows(outputs, source, n_rows), "features")


def take_rows(outputs: list[Any], source: str, n_rows: int) -> Any:
    """Take the one array in the list and return it with one row per sample."""
    seen = list(outputs)
    outputs.clear()
    if len(seen) != 1 or not hasattr(seen[0], "__array__") or tuple(seen[0].shape)[:1] != (n_rows,):
        raise InvalidInputError(
            f"features must be one array of shape ({n_rows}, …) for a batch of {n_rows}; {source} gave "
            f"{', '.join(map(shown, seen)) or 'nothing'}. Name a part that runs once in a pass and gives one tensor, "
            f"or give a function of the output."
        )
    return seen[0].reshape(n_rows, -1)
