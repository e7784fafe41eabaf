"""From a torch module, or anything that gives logits, to `Predictions`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from auxcal._core.errors import InvalidInputError
from auxcal._core.extras import needs
from auxcal._core.progress import Report, progress_bar, silent
from auxcal.export.torch._batches import read_batch
from auxcal.export.torch._calls import call, evaluating, requires
from auxcal.export.torch._outputs import OfOutput, features_from, logits_of
from auxcal.export.torch._shown import shown
from auxcal.predictions import Predictions

with needs("torch"):
    import torch


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
    on, as it would anyway. Afterwards every submodule
    is back in its former mode. Threads and random states are not touched. Any other callable gets the inputs
    unchanged; if there is a module inside, call its `eval()` first.

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
    with evaluating(classifier), torch.no_grad(), features_from(classifier, features) as features_of, bar as show:
        for number, batch in enumerate(loader, start=1):
            with _errors_named_after(number):
                parts.append(_predictions(classifier, batch, features_of))
                _check_same_columns(parts[0], parts[-1])
            if total is not None:
                show(number / total)
                report(number / total)
    return _joined(parts)


def _check(module: Any, loader: Any) -> None:
    if not callable(module):
        raise InvalidInputError(f"module must be an nn.Module or another callable; got {shown(module)}.")
    if isinstance(loader, Mapping) or not (hasattr(loader, "__iter__") or hasattr(loader, "__getitem__")):
        raise InvalidInputError(
            f"loader must give batches, as a DataLoader does; got {shown(loader)}. Put a single batch into a list."
        )


def _length(loader: Any) -> int | None:
    try:
        return len(loader)
    except TypeError:  # also of a DataLoader whose data set has no length
        return None


@contextmanager
def _errors_named_after(number: int) -> Iterator[None]:
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"batch {number} of the loader: {error}") from None
    except Exception as error:  # the classifier's own
        error.add_note(f"It was raised on batch {number} of the loader that auxcal.torch.collect was given.")
        raise


def _predictions(classifier: Callable[..., Any], batch: Any, features_of: OfOutput) -> Predictions:
    (args, kwargs), y, name = read_batch(batch)
    if name is not None and requires(classifier, name):
        kwargs[name] = y
    output = call(classifier, args, kwargs)
    logits = logits_of(output)
    return Predictions(logits, y, features_of(output, len(logits)))


def _check_same_columns(first: Predictions, part: Predictions) -> None:
    for what, expected, got in (
        ("logits", first.n_classes, part.n_classes),
        ("features", first.n_features, part.n_features),
    ):
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
