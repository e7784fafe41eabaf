"""What a loader gives: the arguments of a classifier, and the true classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from auxcal._core.arrays import to_numpy
from auxcal._core.errors import InvalidInputError
from auxcal.export.torch._shown import shown

LABELS = ("labels", "label", "label_ids")
"""Where a batch with names has y, as Hugging Face's data sets and collators call it."""

_NAMES = "'labels', 'label' or 'label_ids'"

Arguments: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]


def read_batch(batch: Any) -> tuple[Arguments, Any, str | None]:
    """Return the arguments for the classifier, y, and the name that y would have as an argument, if any.

    Examples
    --------
    >>> from auxcal.export.torch._batches import read_batch
    >>> read_batch(([0.5, 0.7], [1, 0]))
    (((0.5, 0.7), {}), [1, 0], None)
    >>> read_batch({"input_ids": [[7], [9]], "labels": [1, 0]})
    (((), {'input_ids': [[7], [9]]}), [1, 0], 'labels')
    """
    if isinstance(batch, Mapping):
        name = _label_in(list(batch))
        return ((), {key: value for key, value in batch.items() if key != name}), _of_several(batch[name]), name
    if set(LABELS) & set(getattr(batch, "_fields", ())):  # a namedtuple
        fields = batch._asdict()
        y = fields.pop(_label_in(batch._fields))
        inputs = tuple(fields.values())
        return _arguments(inputs[0] if len(inputs) == 1 else inputs), _of_several(y), None
    if isinstance(batch, tuple | list) and len(batch) == 2:
        return _arguments(batch[0]), _of_several(batch[1]), None
    raise InvalidInputError(
        f"expected (inputs, y), or a dict with y under {_NAMES}; got {shown(batch)}. Put several inputs together, "
        f"((a, b), y), and leave out what the module does not take."
    )


def _label_in(names: Any) -> str:
    found = [name for name in LABELS if name in names]
    if len(found) != 1:
        raise InvalidInputError(
            f"expected y under one name, {_NAMES}; got {', '.join(map(repr, names)) or 'no names'}. Rename the entry "
            f"with the true classes, drop the others, or give (inputs, y)."
        )
    return found[0]


def _of_several(y: Any) -> Any:
    if to_numpy(y, "y").ndim == 0:
        raise InvalidInputError(
            f"y must have shape (batch,), a class index for each sample; got {y!r} alone. Give batches, with "
            f"DataLoader(dataset, batch_size=256), where these are single samples."
        )
    return y


def _arguments(inputs: Any) -> Arguments:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, tuple | list) and not all(isinstance(each, str) for each in inputs):  # texts are one input
        return tuple(inputs), {}
    return (inputs,), {}
