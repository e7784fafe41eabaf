"""From a torch module, or anything that gives logits, to `Predictions`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from auxcal._core.arrays import to_numpy
from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.progress import Report, progress_bar, silent
from auxcal.predictions import Predictions

with needs("torch"):
    import torch
    from torch import nn


def collect(
    module: Callable[..., Any],
    loader: Iterable[Any],
    *,
    features: str | Callable[[Any], Any] | None = None,
    progress: bool = False,
    report: Report = silent,
) -> Predictions:
    """Run a target classifier over labelled batches and collect its logits, and features on request.

    A module runs in evaluation mode, without gradients, on the device of its parameters, and in autocast where that is
    on, as it would anyway. Afterwards every submodule is back in its former mode. Threads and random states are not
    touched. Any other callable gets the inputs unchanged; if there is a module inside, call its `eval()` first.

    Parameters
    ----------
    module : nn.Module, ExportedProgram or callable
        Returns logits of shape (batch, K), without a final softmax: as a tensor or array, as `.logits` of an object,
        under "logits" in a dict, or as the only entry with two dimensions in a tuple or list.
    loader : iterable of (inputs, y) or of dicts
        For instance a DataLoader. y holds class indices, or `NO_CLASS` = -1. Inputs may be a tensor or array, or a
        tuple, list or dict of such, which become the arguments of the module. A dict has y under "labels", "label" or
        "label_ids"; its other entries are the arguments. y is passed to the module only if it is a required argument.
    features : str or callable, optional
        The name of a submodule, as in `module.named_modules()`, whose output becomes the features of each sample, for
        instance "avgpool" in torchvision's ResNets. Or a function of what the module returns, for instance
        ``lambda output: output.hidden_states[-1][:, 0]``.
    progress : bool
        Whether to show a progress bar, in a terminal or notebook, when it takes more than two seconds.
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

    Batches and outputs of Hugging Face models are taken as they are, and so is a plain function:

    >>> def classify(input_ids):
    ...     return {"logits": torch.nn.functional.one_hot(input_ids[:, 0], 3).float()}
    >>> batch = {"input_ids": torch.tensor([[2, 1], [0, 1]]), "labels": torch.tensor([2, 1])}
    >>> collect(classify, [batch]).correct
    array([ True, False])
    """
    _check(module, loader)
    classifier = module.module() if isinstance(module, torch.export.ExportedProgram) else module
    total, parts = _length(loader), list[Predictions]()
    bar = progress_bar("collecting") if progress else nullcontext(silent)
    with _evaluating(classifier), torch.no_grad(), _features_from(classifier, features) as features_of, bar as show:
        for number, batch in enumerate(loader, start=1):
            with _name_batch_in_errors(number):
                parts.append(_predictions(classifier, batch, features_of))
                _check_same_columns(parts[0], parts[-1])
            if total is not None:
                show(number / total)
                report(number / total)
    return _joined(parts)


def _check(module: Any, loader: Any) -> None:
    if not callable(module):
        raise InvalidInputError(f"module must be an nn.Module or another callable; got {describe(module)}.")
    if isinstance(loader, Mapping) or not (hasattr(loader, "__iter__") or hasattr(loader, "__getitem__")):
        raise InvalidInputError(
            f"loader must give batches, as a DataLoader does; got {describe(loader)}. Put a single batch into a list."
        )


def _length(loader: Any) -> int | None:
    try:
        return len(loader)
    except TypeError:  # also of a DataLoader whose data set has no length
        return None


@contextmanager
def _name_batch_in_errors(number: int) -> Iterator[None]:
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"batch {number} of the loader: {error}") from None
    except Exception as error:  # the classifier's own
        error.add_note(f"It was raised on batch {number} of the loader that auxcal.torch.collect was given.")
        raise


def _predictions(classifier: Callable[..., Any], batch: Any, features_of: OfOutput) -> Predictions:
    (args, kwargs), y, name = _read_batch(batch)
    if name is not None and _requires(classifier, name):
        kwargs[name] = y
    output = _call(classifier, args, kwargs)
    logits = _own(find_logits(output), "logits")
    return Predictions(logits, y, features_of(output, len(logits)))


def _check_same_columns(first: Predictions, part: Predictions) -> None:
    for what, name in (("logits", "n_classes"), ("features", "n_features")):
        expected, got = getattr(first, name), getattr(part, name)
        if got != expected:
            raise InvalidInputError(
                f"{what} must have the {expected} columns of the first batch; got {got}. Pad all batches to the same "
                f"length, or give something whose shape does not depend on it."
            )


def _joined(parts: list[Predictions]) -> Predictions:
    if not parts:
        raise InvalidInputError("loader must give at least one batch (inputs, y); it gave none. Is its data set empty?")
    further = [part.features for part in parts if part.features is not None]
    return Predictions._trusted(
        logits=np.concatenate([part.logits for part in parts]),
        y=np.concatenate([part.y for part in parts]),
        features=np.concatenate(further) if further else None,
        inputs=parts[0].inputs,
    )


_LABELS = ("labels", "label", "label_ids")  # as Hugging Face's data sets and collators name y
_NAMES = "'labels', 'label' or 'label_ids'"

Arguments: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]


def _read_batch(batch: Any) -> tuple[Arguments, Any, str | None]:
    """Return the arguments for the classifier, y, and the name that y would have as an argument, if any."""
    if isinstance(batch, Mapping):
        name = _label_in(list(batch))
        return ((), {key: value for key, value in batch.items() if key != name}), _batched(batch[name]), name
    if set(_LABELS) & set(getattr(batch, "_fields", ())):  # a namedtuple
        fields = batch._asdict()
        y = fields.pop(_label_in(batch._fields))
        inputs = tuple(fields.values())
        return _arguments(inputs[0] if len(inputs) == 1 else inputs), _batched(y), None
    if isinstance(batch, tuple | list) and len(batch) == 2:
        return _arguments(batch[0]), _batched(batch[1]), None
    raise InvalidInputError(
        f"expected (inputs, y), or a dict with y under {_NAMES}; got {describe(batch)}. Put several inputs together, "
        f"((a, b), y), and leave out what the module does not take."
    )


def _label_in(names: Any) -> str:
    present = [name for name in _LABELS if name in names]
    if len(present) != 1:
        raise InvalidInputError(
            f"expected y under one name, {_NAMES}; got {', '.join(map(repr, names)) or 'no names'}. Rename the entry "
            f"with the true classes, drop the others, or give (inputs, y)."
        )
    return present[0]


def _batched(y: Any) -> Any:
    if to_numpy(y, "y").ndim == 0:
        raise InvalidInputError(
            f"y must have shape (batch,), a class index for each sample; got {y!r} alone. Give batches, with "
            f"DataLoader(dataset, batch_size=256), where these are single samples."
        )
    return y


def _arguments(inputs: Any) -> Arguments:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, tuple | list) and not all(isinstance(part, str) for part in inputs):  # texts are one input
        return tuple(inputs), {}
    return (inputs,), {}


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
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


def _call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a classifier with inputs that it takes, on the device of its weights if it has any."""
    _check_takes(module, args, kwargs)
    device = _device(module)
    try:
        return module(
            *(_to(value, device) for value in args), **{key: _to(value, device) for key, value in kwargs.items()}
        )
    except Exception as error:
        given = [*map(describe, args), *(f"{name}: {describe(value)}" for name, value in kwargs.items())]
        error.add_note(f"The classifier was called with {'; '.join(given) or 'nothing'}.")
        raise


def _requires(module: Any, name: str) -> bool:
    """Whether a classifier can't be called without an argument of that name."""
    signature = _signature(module)
    return name in signature.parameters and signature.parameters[name].default is inspect.Parameter.empty


def _check_takes(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Reject inputs that don't match the arguments; errors inside the classifier are its own."""
    signature = _signature(module)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        names = ", ".join(map(repr, kwargs)) or f"{len(args)} without names"
        raise InvalidInputError(
            f"the inputs must be the arguments of the module, {tuple(signature.parameters)}; got {names} ({error}). "
            f"Rename the entries of the batch and drop what the module does not take, or give (inputs, y)."
        ) from None


def _signature(module: Any) -> inspect.Signature:
    try:
        return inspect.signature(module.forward if isinstance(module, nn.Module) else module)
    except (TypeError, ValueError):  # what is written in C checks its arguments itself
        return inspect.signature(lambda *args, **kwargs: None)


def _to(value: Any, device: torch.device | None) -> Any:
    is_array = isinstance(value, torch.Tensor | np.ndarray)
    return torch.as_tensor(value, device=device) if is_array and device is not None else value


def _device(module: Any) -> torch.device | None:
    if not isinstance(module, nn.Module):
        return None
    first = next(chain(module.parameters(), module.buffers()), None)
    return None if first is None else first.device


OfOutput: TypeAlias = Callable[[Any, int], "np.ndarray[Any, Any] | None"]
"""Gives the features of a batch, from the output of the classifier and the number of rows."""


def find_logits(output: Any) -> Any:
    """Return the logits in the output of a classifier: itself, `.logits`, ["logits"], or the one matrix in a tuple."""
    if isinstance(output, Mapping):
        candidates = [output.get("logits")]
    elif hasattr(output, "logits"):
        candidates = [output.logits]
    else:
        candidates = [part for part in output if _is_matrix(part)] if isinstance(output, tuple | list) else [output]
    if len(candidates) != 1 or not _is_matrix(candidates[0]):
        raise InvalidInputError(
            f"module must give logits, an array of shape (batch, K): alone, as .logits, under 'logits' in a dict, or "
            f"as the only one with two dimensions in a tuple; got {describe(output)}. Wrap it in a module that returns "
            f"the logits alone."
        )
    return candidates[0]


def _is_matrix(value: Any) -> bool:
    return hasattr(value, "__array__") and len(getattr(value, "shape", ())) == 2


def _own(array: Any, name: str) -> np.ndarray[Any, Any]:
    # A view would keep the whole output in memory, and a buffer that the classifier uses again would change.
    return np.array(to_numpy(array, name))


@contextmanager
def _features_from(module: Any, features: str | Callable[[Any], Any] | None) -> Iterator[OfOutput]:
    """Yield a function that gives the features of each batch: the output of a submodule, or a user's function."""
    if features is None:
        yield lambda output, n_rows: None
    elif isinstance(features, str):
        outputs: list[Any] = []
        hook = named_part(module, features).register_forward_hook(lambda part, inputs, output: outputs.append(output))
        try:
            yield lambda output, n_rows: _own(take_rows(outputs, f"the part {features!r}", n_rows), "features")
        finally:
            hook.remove()
    elif callable(features) and not isinstance(features, nn.Module):
        yield lambda output, n_rows: _own(take_rows([features(output)], "the function", n_rows), "features")
    else:
        raise InvalidInputError(
            f"features must be the name of a part of the module, as in module.named_modules(), or a function of its "
            f"output; got {describe(features)}."
        )


def named_part(module: Any, name: str) -> nn.Module:
    """Return the submodule of that name."""
    if not isinstance(module, nn.Module):
        raise InvalidInputError(
            f"features={name!r} names a part of an nn.Module; got {describe(module)}. Give the module itself, or as "
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


@contextmanager
def without_tracer_warnings() -> Iterator[None]:
    """Ignore the warnings of `torch.jit.trace` about checks in the block, which are not to be traced."""
    jit: Any = torch.jit  # which has no types
    if not jit.is_tracing():  # threads share the filters of warnings, so they are left alone
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.TracerWarning)
        yield


def take_rows(outputs: list[Any], source: str, n_rows: int) -> Any:
    """Take the one array in the list and return it with one row per sample."""
    seen = list(outputs)
    outputs.clear()
    one = len(seen) == 1 and hasattr(seen[0], "__array__")
    with without_tracer_warnings():
        fits = one and tuple(seen[0].shape)[:1] == (n_rows,)
    if not fits:
        raise InvalidInputError(
            f"features must be one array of shape ({n_rows}, …) for a batch of {n_rows}; {source} gave "
            f"{', '.join(map(describe, seen)) or 'nothing'}. Name a part that runs once in a pass and gives one "
            f"tensor, or give a function of the output."
        )
    return seen[0].reshape(n_rows, -1)


def describe(value: Any) -> str:
    """Describe a value: an array by its shape, a container by its entries."""
    if value is None:
        return "None"
    kind = type(value).__name__
    if isinstance(value, Mapping):
        return f"{kind} with {', '.join(map(repr, value)) or 'nothing in it'}"
    if isinstance(value, tuple | list) and len(value) <= 5:
        return f"{kind} of {', '.join(map(describe, value)) or 'nothing'}"
    if isinstance(value, tuple | list):
        return f"{kind} of {len(value)} entries"
    return f"shape {tuple(value.shape)}" if hasattr(value, "shape") else kind
