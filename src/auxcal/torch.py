"""From a torch module to `Predictions`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from auxcal._errors import InvalidInputError
from auxcal.predictions import Predictions


def collect(
    module: nn.Module,
    loader: Iterable[tuple[Any, Any]],
    *,
    report: Callable[[int, int | None], None] | None = None,
) -> Predictions:
    """Run a target classifier over labelled batches and keep its logits.

    The module runs in evaluation mode, without gradients and on the device of its parameters; afterwards
    every part of it is in the mode in which it was. Threads and random states stay as they are.

    Parameters
    ----------
    module : nn.Module
        Gives logits of shape (batch, K): without a softmax at its end.
    loader : iterable of (inputs, y)
        For instance a DataLoader. y holds class indices, or `NO_CLASS` = -1. Inputs may be a tensor or a
        tuple, list or dict of tensors, which become the arguments of the module.
    report : callable, optional
        Is told after each batch how many of how many batches are done, ``report(done, total)``; the total is
        None where the loader has no length.

    Returns
    -------
    Predictions
        Logits in float32 (float64 where the module gives it) and y, in the order of the loader.

    Examples
    --------
    >>> import torch
    >>> from auxcal.torch import collect
    >>> module = torch.nn.Linear(2, 3)
    >>> collect(module, [(torch.zeros(4, 2), torch.tensor([0, 1, 2, -1]))]).logits.shape
    (4, 3)
    """
    total = len(loader) if isinstance(loader, Sized) else None
    device = _device(module)
    logits, y = [], []
    with _evaluating(module), torch.no_grad():
        for done, (inputs, labels) in enumerate(loader, start=1):
            logits.append(_numpy(_call(module, inputs, device)))
            y.append(np.asarray(torch.as_tensor(labels).cpu()))
            if report is not None:
                report(done, total)
    if not logits:
        raise InvalidInputError("loader must give at least one batch (inputs, y); it gave none. Is its data set empty?")
    return Predictions(np.concatenate(logits), np.concatenate(y))


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _call(module: nn.Module, inputs: Any, device: torch.device | None) -> Any:
    if isinstance(inputs, dict):
        return module(**{name: _to(value, device) for name, value in inputs.items()})
    if isinstance(inputs, (tuple, list)):
        return module(*(_to(value, device) for value in inputs))
    return module(_to(inputs, device))


def _to(value: Any, device: torch.device | None) -> Any:
    return value.to(device) if isinstance(value, Tensor) and device is not None else value


def _device(module: nn.Module) -> torch.device | None:
    first = next(module.parameters(), None)
    return None if first is None else first.device


def _numpy(output: Any) -> np.ndarray[Any, np.dtype[np.floating[Any]]]:
    if not isinstance(output, Tensor) or output.ndim != 2:
        got = f"shape {tuple(output.shape)}" if isinstance(output, Tensor) else type(output).__name__
        raise InvalidInputError(
            f"module must give logits, a tensor of shape (batch, K); got {got}. Wrap it in a module that "
            f"returns the logits alone, for instance its output.logits."
        )
    output = output if output.dtype == torch.float64 else output.float()
    array: np.ndarray[Any, np.dtype[np.floating[Any]]] = output.cpu().numpy()
    return array
