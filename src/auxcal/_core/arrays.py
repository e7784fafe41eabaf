"""Any array in, checked NumPy out."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auxcal._core.errors import InvalidInputError

Floats: TypeAlias = NDArray[np.floating[Any]]

LARGEST = 1e15
"""Beyond it, squares and differences leave what float32 can hold."""


def to_numpy(array: Any, name: str) -> NDArray[Any]:
    """Return any array as NumPy, without a copy where none is needed; torch is recognised, never imported."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        check_not_traced(name)
        try:
            array = array.detach().cpu().resolve_conj().resolve_neg()
            narrow = array.is_floating_point() and array.dtype not in (torch.float16, torch.float32, torch.float64)
            return np.asarray((array.float() if narrow else array).numpy())
        except (TypeError, NotImplementedError, RuntimeError) as error:
            raise InvalidInputError(
                f"{name} must be a dense tensor with data; got layout {array.layout} on {array.device}: {error}."
            ) from error
    if torch is not None and isinstance(array, list | tuple) and any(isinstance(row, torch.Tensor) for row in array):
        array = [to_numpy(row, name) for row in array]
    if _is_masked(array) or (isinstance(array, list | tuple) and any(map(_is_masked, array))):
        raise InvalidInputError(
            f"{name} must have a value in every entry; got a masked array. Drop the rows with masked entries."
        )
    if hasattr(array, "toarray"):
        raise InvalidInputError(
            f"{name} must be a dense array; got a sparse {type(array).__name__} (sparse data was passed). "
            f"Convert it with {name}.toarray()."
        )
    if isinstance(array, Mapping) or (hasattr(array, "collect") and not hasattr(array, "__array__")):
        table = "pandas.DataFrame" if isinstance(array, Mapping) else "the method collect"
        raise InvalidInputError(
            f"{name} must be an array or a table; got {type(array).__name__}. Make a table of it first, with {table}."
        )
    try:
        return np.asarray(array)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(
            f"{name} must be an array of numbers with rows of one length; got {type(array).__name__}: {error}. "
            f"Check for rows that are shorter than the others."
        ) from error


def as_given(result: NDArray[Any], given: Any) -> Any:
    """Return a result as a tensor on the device of the input where that is a tensor, else as it is."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(given, torch.Tensor):
        return result
    return torch.as_tensor(result, device=given.device)


def _is_masked(array: Any) -> bool:
    return hasattr(array, "mask") and bool(np.ma.is_masked(array))  # numpy.ma is imported when it is first asked for


def check_not_traced(name: str) -> None:
    """Reject tensors that are being traced: in NumPy they would become constants, the same for all samples."""
    torch = sys.modules.get("torch")
    if torch is not None and (torch.jit.is_tracing() or torch.compiler.is_compiling()):
        raise InvalidInputError(
            f"{name} must be numbers; got a tensor that torch is tracing, for a compiler or an exporter. There use "
            f"auxcal.torch.as_module(calibrator), or auxcal.torch.with_confidence(classifier, calibrator)."
        )


def as_floats(values: ArrayLike, name: str) -> Floats:
    """Return any array of numbers as float32 or float64, whichever holds them."""
    array = to_numpy(values, name)
    if array.dtype.char in "fd" and array.dtype.isnative:
        return array
    if array.dtype.kind == "O":
        array = _of_objects(array, name)
    if np.iscomplexobj(array):
        raise InvalidInputError(
            f"{name} must be real numbers; got dtype {array.dtype}. Complex data not supported: take the real part."
        )
    wide = array.dtype.itemsize > 4 or array.dtype.kind not in "fV"  # bfloat16 and the like are kind V
    if array.dtype.kind in "mM" or array.dtype.fields is not None:
        raise InvalidInputError(
            f"{name} must be numbers; got dtype {array.dtype}. Convert the entries to numbers first."
        )
    if array.dtype.kind in "UST" or (array.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in array.flat)):
        raise InvalidInputError(
            f"{name} must be numbers; got strings (dtype {array.dtype}). Convert them with {name}.astype(float)."
        )
    try:
        return array.astype(np.float64 if wide else np.float32)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInputError(
            f"{name} must be numbers; got dtype {array.dtype}: {error}. Convert every entry to a number first."
        ) from error


def _of_objects(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return objects with NaN for pandas' NA, and a column of lists as a matrix."""
    entries = list(array.flat)
    if entries and all(isinstance(entry, list | tuple | np.ndarray) for entry in entries):
        if array.ndim > 1:
            raise InvalidInputError(
                f"{name} must have a number in every column; got a table of lists. Give its column of lists alone."
            )
        return to_numpy([to_numpy(entry, name) for entry in entries], name)
    if any(type(entry).__name__ == "NAType" for entry in entries):  # which no float is made of
        entries = [np.nan if is_missing(entry) else entry for entry in entries]
    return np.fromiter(entries, object, len(entries)).reshape(array.shape)


def row_by_row(matrix: Floats) -> Floats:
    """Return a matrix with contiguous rows: summing in another order gives other bits on some processors."""
    in_one_piece = matrix.shape[1] == 1 or matrix.strides[1] == matrix.itemsize
    return matrix if in_one_piece else np.ascontiguousarray(matrix)


def check_size(array: Floats, name: str, *, repair: str, shrink: str) -> None:
    """Reject numbers that are not finite, or too large to compute with."""
    largest = largest_of(array)
    if not largest <= LARGEST:
        check_finite(array, name, repair)
        raise InvalidInputError(f"{name} must be within ±{LARGEST:.0e}; got {largest:.3g}. {shrink}")


def largest_of(array: Floats) -> float:
    """Return the largest absolute value, or NaN if there is one."""
    return max(float(array.max()), -float(array.min()))  # both are NaN if there is one


def check_finite(array: Floats, name: str, advice: str) -> None:
    """Reject NaN and inf."""
    if np.isfinite(array).all():
        return
    bad = ~np.isfinite(array)
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    rows = int(bad.reshape(len(array), -1).any(axis=1).sum())
    raise InvalidInputError(
        f"{name} must be finite; got {array[first]} (NaN or inf) at {list(first)} ({rows} such rows). {advice}"
    )


def check_spread(logits: Floats) -> None:
    """Reject logits that differ too little within every row for float32; equal ones are fine."""
    for rows in (logits[:1000], logits):  # the first nearly always show that the others need no look
        spread, largest = float((rows.max(axis=1) - rows.min(axis=1)).max()), float(np.abs(rows).max())
        if spread > max(1 / LARGEST, largest * float(np.finfo(np.float32).eps) / 2):
            return
    if spread > 0:
        raise InvalidInputError(
            f"the logits of a row must differ by more than float32 resolves; got {spread:.3g} at most, for logits up "
            f"to {largest:.3g}. These are no scores of a classifier: check where they come from, take the mean of each "
            f"row off, or scale them."
        )


NO_CLASS = -1
"""The label of a sample that belongs to none of the target classifier's classes (the paper's NULL label)."""

Ints: TypeAlias = NDArray[np.integer[Any]]
Bools: TypeAlias = NDArray[np.bool_]
Weight: TypeAlias = NDArray[Any]
"""How often each row counts: numbers of at least 0."""
Groups: TypeAlias = NDArray[Any]
"""What each row belongs to: a patient, a camera, a day; integers or strings."""

LEAST_PROBABILITY = 1e-12
"""Probabilities are clipped here from below, since the logarithm of 0 is not a logit."""

_BELOW, _BELOW_ONE = 2.0, 10.0
"""How far -inf is put below the smallest finite logit; benchmarks/evidence/missing_logits.py compares."""

_SUM_TOLERANCE = 0.02  # of a row of probabilities: what two decimals leave of a few classes, and three of many


def as_rng(random_state: int | None) -> np.random.Generator:
    """Return the source of randomness that `random_state` stands for."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"random_state must be a whole number of at least 0, or None; got {random_state!r}. Use random_state=0."
        ) from error


def as_whole(value: int, name: str, *, least: int, advice: str = "") -> int:
    """Return a whole number that is at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InvalidInputError(f"{name} must be a whole number of at least {least}; got {value!r}. {advice}".rstrip())
    return int(value)


def as_logits(logits: ArrayLike, *, n_classes: int | None = None) -> Floats:
    """Check `logits` and return them as float32 or float64 of shape (n, K), K at least 2; one column is of class 1."""
    return both_classes(_as_matrix(logits, n_classes))


def both_classes(array: Floats, *, probabilities: bool = False) -> Floats:
    """Return the columns of both classes of a binary classifier that has one, for the second; others unchanged."""
    if array.shape[1] != 1:
        return array
    return np.column_stack([1 - array if probabilities else np.zeros_like(array), array])


def _as_matrix(logits: ArrayLike, n_classes: int | None) -> Floats:
    array = as_floats(logits, "logits")
    if array.ndim != 2:
        raise InvalidInputError(
            f"logits must have shape (n, K), a row for each sample and a column for each class; got shape "
            f"{array.shape}. Reshape your data: logits.reshape(-1, 1) if there is one number for each sample, which "
            f"belongs to the second of two classes; logits.reshape(1, -1) if these are the numbers of a single sample."
        )
    n, k = array.shape
    if n == 0:
        raise InvalidInputError(
            f"logits must have at least one row; got 0 sample(s) (shape={array.shape}) while a minimum of 1 is "
            f"required. Check the filter or the file that the rows came from."
        )
    if n_classes is not None and k != n_classes and (k, n_classes) != (1, 2):
        raise InvalidInputError(
            f"logits must have the {n_classes} columns that the calibrator was fitted with; got {k}: X has {k} "
            f"features, but it is expecting {n_classes} features as input. Use the logits of the same target "
            f"classifier, or fit a calibrator for this one."
        )
    if k == 0:
        raise InvalidInputError(
            f"logits must have a column for each class, or one for the second of two; got 0 feature(s) "
            f"(shape={array.shape}) while a minimum of 1 is required. Check where the columns were lost."
        )
    check_size(
        array,
        "logits",
        repair="Drop or repair those rows; auxcal.floor_logits(logits) makes log-probabilities of -inf finite.",
        shrink="These are no scores of a classifier: check where they come from, or scale them.",
    )
    return row_by_row(array)


def as_log_probabilities(proba: ArrayLike, *, n_classes: int | None = None) -> Floats:
    """Check probabilities of shape (n, K), whose rows add up to 1, and return their logarithms, which are logits."""
    array = both_classes(_as_matrix(proba, n_classes), probabilities=True)
    wrong = ~are_probabilities(array)
    if wrong.any():
        row = int(np.argmax(wrong))
        if look_like_percentages(array):
            raise InvalidInputError(
                "probabilities must be from 0 to 1 and add up to 1 in every row; these rows add up to 100. Divide "
                "percentages by 100."
            )
        raise InvalidInputError(
            f"probabilities must be from 0 to 1 and add up to 1 in every row, to within {_SUM_TOLERANCE}; row {row} "
            f"has {array[row].min():.4g} to {array[row].max():.4g} with the sum "
            f"{array[row].sum(dtype=np.float64):.4g} ({int(wrong.sum())} such rows). If these are logits, leave out "
            f"probabilities=True (--probabilities); a calibrator that was fitted on probabilities needs them again. If "
            f"some were left out, auxcal.floor_logits(proba, probabilities=True) gives logits, to fit and to score."
        )
    return log_of(array)


def floor_logits(logits: ArrayLike, *, probabilities: bool = False) -> Floats:
    """Replace -inf, such as the log-probability of a class that was not returned, by a finite number.

    In each row it becomes 2 less than the smallest finite number of the row; 10 less where there is but one, since
    how far the others are is then unknown. A single large number for all rows, such as -1e4, rules the fit: with
    it, the temperature is chosen for the missing entries. Whatever is scored later must be floored too.

    Parameters
    ----------
    logits : array of shape (n, K)
        Logits or log-probabilities, with at least one finite number in each row.
    probabilities : bool
        `logits` holds probabilities, which need not add up to 1. Those that are 0, or below 1e-12, are missing.

    Returns
    -------
    array of shape (n, K)
        Logits: for probabilities their logarithms.

    Examples
    --------
    >>> import numpy as np
    >>> import auxcal
    >>> auxcal.floor_logits([[-0.1, -3.0, -np.inf], [-np.inf, -0.5, -np.inf]])
    array([[ -0.1,  -3. ,  -5. ],
           [-10.5,  -0.5, -10.5]])
    """
    array = as_floats(logits, "logits")
    if array.ndim != 2:
        raise InvalidInputError(f"logits must have shape (n, K); got shape {array.shape}.")
    if probabilities:
        outside = ~((array >= 0) & (array <= 1)).all(axis=1)  # NaN is neither
        if outside.any():
            row = int(np.argmax(outside))
            raise InvalidInputError(
                f"probabilities must be from 0 to 1; row {row} has {array[row].min():.4g} to {array[row].max():.4g} "
                f"({int(outside.sum())} such rows). If these are logits, leave out probabilities=True."
            )
        array = np.where(array < LEAST_PROBABILITY, -np.inf, log_of(array)).astype(array.dtype)
    missing = np.isneginf(array)
    empty = missing.all(axis=1)
    if empty.any():
        raise InvalidInputError(
            f"logits must have a finite number in every row; got none in row {int(np.argmax(empty))} "
            f"({int(empty.sum())} such rows). Nothing is known of these predictions: leave those rows out."
        )
    smallest = np.where(missing, np.inf, array).min(axis=1, keepdims=True)
    only_one = missing.sum(axis=1, keepdims=True) == array.shape[1] - 1
    return np.where(missing, smallest - np.where(only_one, _BELOW_ONE, _BELOW), array).astype(array.dtype)


def look_like_probabilities(logits: Floats) -> bool:
    """Whether every row is non-negative and sums to 1, or is 0 and a number up to 1, which logits almost never are."""
    first = logits[0]  # where it is none, which is nearly always, the others need no look
    if not (first.min() >= 0 and first.sum() <= 2):
        return False
    one_column = logits.shape[1] == 2 and not logits[:, 0].any() and bool(logits.max() <= 1 and logits.min() >= 0)
    return one_column or bool(are_probabilities(logits).all())


def look_like_percentages(logits: Floats) -> bool:
    """Whether every row is non-negative and adds up to 100."""
    first = logits[0]
    if not (first.min() >= 0 and abs(first.sum() - 100) <= 100 * _SUM_TOLERANCE):
        return False
    return bool(are_probabilities(logits / 100).all())


def log_of(proba: Floats) -> Floats:
    """Return the logarithms of probabilities that are already checked."""
    return np.log(np.maximum(proba, LEAST_PROBABILITY))


def are_probabilities(array: Floats) -> Bools:
    """Whether the numbers of each row are from 0 to 1 and add up to 1."""
    return (array.min(axis=1) >= 0) & (np.abs(array.sum(axis=1, dtype=np.float64) - 1) <= _SUM_TOLERANCE)


def as_features(features: ArrayLike, *, n_rows: int, n_columns: int | None = None) -> Floats:
    """Check `features`, further inputs of each sample, and return them as floats of shape (n, d), d at least 1."""
    array = as_floats(features, "features")
    if array.ndim != 2:
        raise InvalidInputError(
            f"features must have shape (n, d), a row of d numbers for each sample; got shape {array.shape}. "
            f"features.reshape(len(features), -1) makes a row of what belongs to a sample."
        )
    n, d = array.shape
    if n != n_rows:
        raise InvalidInputError(
            f"features must have one row for each of the {n_rows} rows of logits; got {n}. "
            f"Check that both come from the same samples."
        )
    if d == 0:
        raise InvalidInputError("features must have at least 1 column; got 0. Leave them out where there are none.")
    if n_columns is not None and d != n_columns:
        raise InvalidInputError(
            f"features must have the {n_columns} columns that the calibrator was fitted with; got {d}. Use the same "
            f"features of the same target classifier, or fit a calibrator with these."
        )
    check_size(array, "features", repair="Drop or repair those rows.", shrink="Scale them, or leave the column out.")
    return row_by_row(array)


def as_confidence(confidence: ArrayLike) -> Floats:
    """Check `confidence` and return it as floats in [0, 1] of shape (n,)."""
    array = as_floats(confidence, "confidence")
    if array.ndim != 1 or len(array) == 0:
        raise InvalidInputError(
            f"confidence must have shape (n,) with n at least 1, one number for each prediction; got shape "
            f"{array.shape}. Use calibrator.predict_confidence(logits)."
        )
    if not (array.min() >= 0 and array.max() <= 1):  # NaN is neither
        check_finite(array, "confidence", "Drop those rows, and correct with them.")
        outside = (array < 0) | (array > 1)
        row = int(np.argmax(outside))
        raise InvalidInputError(
            f"confidence must be a probability in [0, 1]; got {array[row]:.6g} in row {row} ({int(outside.sum())} "
            f"such rows). Divide percentages by 100; turn logits into a confidence with a calibrator, for instance "
            f"auxcal.Uncalibrated; drop or repair other rows."
        )
    return array


def as_correct(correct: ArrayLike, *, n_rows: int) -> Bools:
    """Check `correct` and return it as booleans of shape (n,)."""
    array = to_numpy(correct, "correct")
    if array.shape != (n_rows,):
        raise InvalidInputError(
            f"correct must have one value for each of the {n_rows} rows, shape ({n_rows},); got shape "
            f"{array.shape}. It is prediction == y."
        )
    if array.dtype == np.bool_:
        return array
    missing = np.array(list(map(is_missing, array))) if array.dtype == object else np.asarray(array != array)
    if missing.any():
        raise InvalidInputError(
            f"correct must be known in every row; it is missing in {int(missing.sum())}, first in row "
            f"{int(missing.argmax())}. Leave these rows out, or give False if no answer counts as a wrong one."
        )
    if array.dtype == object and all(isinstance(value, bool | np.bool_) for value in array):
        return array.astype(np.bool_)
    if not (np.issubdtype(array.dtype, np.number) and np.isin(array, (0, 1)).all()):
        raise InvalidInputError(
            f"correct must hold booleans (or 0 and 1), True where prediction == y; got dtype {array.dtype}"
            f"{'' if array.dtype.kind in 'OUS' else ' with other values'}. Compute it as logits.argmax(axis=1) == y, "
            f"where y holds class indices."
        )
    return array.astype(np.bool_)


def as_sample_weight(sample_weight: ArrayLike | None, *, n_rows: int) -> Weight | None:
    """Check `sample_weight`, how often each row counts, and return it as float64 of shape (n,), or None."""
    if sample_weight is None:
        return None
    array = to_numpy(sample_weight, "sample_weight")
    if array.dtype.kind == "O":  # such as Decimal
        array = as_floats(array, "sample_weight")
    if array.shape != (n_rows,) or array.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"sample_weight must be one number for each of the {n_rows} rows, shape ({n_rows},); got shape "
            f"{array.shape} and dtype {array.dtype}. Leave it out where every row counts once."
        )
    bad = ~((array >= 0) & (array < np.inf))  # NaN is neither
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidInputError(
            f"sample_weight must be finite and at least 0 in every row; got {array[row]} in row {row} "
            f"({int(bad.sum())} such rows). A weight of 2 counts a row twice, one of 0 leaves it out."
        )
    total = float(array.sum(dtype=np.float64))
    if not 1 / LARGEST <= total <= LARGEST:  # beyond them, products with weights are no numbers in float32
        raise InvalidInputError(
            f"sample_weight must not be zero in every row, and add up to at least {1 / LARGEST:.0e} and at most "
            f"{LARGEST:.0e}; got a sum of {total:.3g}. A weight of 2 counts a row twice, one of 0 leaves it out."
        )
    return array.astype(np.float64, copy=False)


def check_total(sample_weight: Weight) -> None:
    """Reject weights that sum to 1 where their sum should be the number of rows."""
    total = float(sample_weight.sum())
    if total < 1.5 and len(sample_weight) > 1:
        raise InvalidInputError(
            f"sample_weight must count rows: their sum is the effective sample size; got a sum of {total:.6g} "
            f"in {len(sample_weight)} rows. Multiply shares by the number of rows."
        )


def check_shares(**shares: float) -> None:
    """Refuse what is not between 0 and 1."""
    for name, share in shares.items():
        if not isinstance(share, Real) or not 0 < share < 1:
            percent = share if isinstance(share, Real) and 1 < share < 100 else 95 if name == "level" else 5
            advice = f"For {percent:g} % give {percent / 100:g}."
            raise InvalidInputError(f"{name} must be a share in (0, 1); got {share!r}. {advice}")


def is_missing(value: Any) -> bool:
    """Whether a label or a group is None, NaN or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA is neither equal to itself nor not
        return True


def as_groups(groups: ArrayLike, *, n_rows: int, name: str = "groups") -> Groups:
    """Check `groups`, what each row belongs to, and return them as numbers, strings or dates of shape (n,)."""
    array = to_numpy(groups, name)
    if array.shape != (n_rows,) or array.dtype.kind not in "biufMUSTO":
        raise InvalidInputError(
            f"{name} must be one number, string or date for each of the {n_rows} rows, shape ({n_rows},); got shape "
            f"{array.shape} and dtype {array.dtype}."
        )
    missing = [is_missing(group) for group in array.tolist()] if array.dtype.kind in "fMO" else []
    if any(missing):
        raise InvalidInputError(
            f"{name} must be known for every row; got {array[missing.index(True)]} in row {missing.index(True)} "
            f"({sum(missing)} such rows). Leave those rows out, or give each a value of its own."
        )
    return array.astype(str) if array.dtype.kind in "OT" else array
