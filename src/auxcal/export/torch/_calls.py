"""Calling a classifier: with its arguments, on its device, in evaluation mode."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Any

import numpy as np

from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal.export.torch._shown import shown

with needs("torch"):
    import torch
    from torch import nn


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Put a module into evaluation mode for a while; other callables are left alone."""
    modes = [(part, part.training) for part in module.modules()] if isinstance(module, nn.Module) else []
    try:
        if modes:
            with suppress(NotImplementedError):  # an exported program has only the mode that it was exported in
                module.eval()
        yield
    finally:
        for part, training in modes:
            part.training = training


def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a classifier with inputs that it takes, on the device of its weights if it has any."""
    _check_takes(module, args, kwargs)
    device = _device(module)
    try:
        return module(*(_to(each, device) for each in args), **{key: _to(each, device) for key, each in kwargs.items()})
    except Exception as error:
        given = [*map(shown, args), *(f"{name}: {shown(value)}" for name, value in kwargs.items())]
        error.add_note(f"The classifier was called with {'; '.join(given) or 'nothing'}.")
        raise


def requires(module: Any, name: str) -> bool:
    """Whether a classifier can't be called without an argument of that name.

    Examples
    --------
    >>> from auxcal.export.torch._calls import requires
    >>> requires(lambda x, labels: x, "labels"), requires(lambda x, labels=None: x, "labels")
    (True, False)
    """
    signature = _signature(module)
    return (
        signature is not None
        and name in signature.parameters
        and (signature.parameters[name].default is inspect.Parameter.empty)
    )


def _check_takes(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Reject inputs that don't match the arguments; errors inside the classifier are its own."""
    signature = _signature(module)
    if signature is None:
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        names = ", ".join(map(repr, kwargs)) or f"{len(args)} without names"
        raise InvalidInputError(
            f"the inputs must be the arguments of the module, {tuple(signature.parameters)}; got {names} ({error}). "
            f"Rename the entries of the batch and drop what the module does not take, or give (inputs, y)."
        ) from None


def _signature(module: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(module.forward if isinstance(module, nn.Module) else module)
    except (TypeError, ValueError):  # what is written in C checks its arguments itself
        return None


def _to(value: Any, device: torch.device | None) -> Any:
    is_array = isinstance(value, torch.Tensor | np.ndarray)
    return torch.as_tensor(value, device=device) if is_array and device is not None else value


def _device(module: Any) -> torch.device | None:
    if not isinstance(module, nn.Module):
        return None
    first = next(chain(module.parameters(), module.buffers()), None)
    return None if first is None else first.device
