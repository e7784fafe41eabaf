"""From a torch module to `Predictions`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

import numpy as np

from auxcal._arrays import Floats
from auxcal._errors import InvalidInputError
from auxcal._extras import needs
from auxcal._progress import Report, silent
from auxcal.predictions import Predictions

with needs("torch"):
    import torch
    from torch import Tensor, nn


def collect(
    module: nn.Module,
    loader: Iterable[tuple[Any, Any]],
    *,
    features: str | None = None,
    report: Report = silent,
) -> Predictions:
    """Run a target classifier over labelled batches and collect its logits, and features on request.

    The module runs in evaluation mode, without gradients, on the device of its parameters. Afterwards every submodule
    is back in its former mode. Threads and random states are not touched.

    Parameters
    ----------
    module : nn.Module
        Returns logits of shape (batch, K), without a final softmax.
    loader : iterable of (inputs, y)
        For instance a DataLoader. y holds class indices, or `NO_CLASS` = -1. Inputs may be a tensor, or a tuple, list
        or dict of tensors, which become the arguments of the module.
    features : str, optional
        The name of a submodule, as in `module.named_modules()`, whose output becomes the features of each sample, for
        instance "avgpool" in torchvision's ResNets.
    report : callable
        Called after each batch with the share of the batches that is done, if the loader has a length.

    Returns
    -------
    Predictions
        Logits in float32 (float64 if the module returns it), y, and features of shape (n, d), in the order of the
        loader.

    Examples
    --------
    >>> import torch
    >>> from auxcal.torch import collect
    >>> module = torch.nn.Linear(2, 3)
    >>> collect(module, [(torch.zeros(4, 2), torch.tensor([0, 1, 2, -1]))]).logits.shape
    (4, 3)
    >>> deep = torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    >>> collect(deep, [(torch.zeros(4, 2), torch.tensor([0, 1, 2, -1]))], features="1").features.shape
    (4, 5)
    """
    total = len(loader) if isinstance(loader, Sized) else None
    device = _device(module)
    logits, y, further = [], [], []
    with _evaluating(module), torch.no_grad(), _outputs_of(module, features) as outputs:
        for done, (inputs, labels) in enumerate(loader, start=1):
            logits.append(_logits(_call(module, inputs, device)))
            if features is not None:
                further.append(_flat(outputs, features, len(logits[-1])))
            y.append(np.asarray(torch.as_tensor(labels).cpu()))
            if total is not None:
                report(done / total)
    if not logits:
        raise InvalidInputError("loader must give at least one batch (inputs, y); it gave none. Is its data set empty?")
    return Predictions(np.concatenate(logits), np.concatenate(y), np.concatenate(further) if further else None)


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


@contextmanager
def _outputs_of(module: nn.Module, name: str | None) -> Iterator[list[Any]]:
    """Yield a list that collects the outputs of the named submodule; without a name it stays empty."""
    outputs: list[Any] = []
    if name is None:
        yield outputs
        return
    parts = dict(module.named_modules())
    if name not in parts:
        shown = ", ".join(repr(part) for part in parts if part)
        raise InvalidInputError(f"features must name a part of the module, one of {shown or 'none'}; got {name!r}.")
    hook = parts[name].register_forward_hook(lambda part, inputs, output: outputs.append(output))
    try:
        yield outputs
    finally:
        hook.remove()


def _flat(outputs: list[Any], name: str, n_rows: int) -> Floats:
    """Return the output of the submodule for a batch, one row per sample."""
    seen = [tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__ for output in outputs]
    if len(seen) != 1 or not isinstance(seen[0], tuple) or seen[0][:1] != (n_rows,):
        raise InvalidInputError(
            f"features must name a part of the module that gives one tensor of shape ({n_rows}, …) for a batch of "
            f"{n_rows}; {name!r} gave {', '.join(map(str, seen)) or 'nothing'}. Name a part that runs once in a pass."
        )
    return _numpy(outputs.pop().reshape(n_rows, -1))


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


def _logits(output: Any) -> Floats:
    if not isinstance(output, Tensor) or output.ndim != 2:
        got = f"shape {tuple(output.shape)}" if isinstance(output, Tensor) else type(output).__name__
        raise InvalidInputError(
            f"module must give logits, a tensor of shape (batch, K); got {got}. Wrap it in a module that "
            f"returns the logits alone, for instance its output.logits."
        )
    return _numpy(output)


def _numpy(output: Tensor) -> Floats:
    output = output if output.dtype == torch.float64 else output.float()
    array: Floats = output.cpu().numpy()
    return array
