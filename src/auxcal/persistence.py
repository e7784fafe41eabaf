"""Fitted calibrators as files: safetensors with a JSON header, never pickle.

The tensors of the file are the arrays of the fitted state. Its metadata has one entry, ``auxcal``, a JSON object:

- ``format``: the version of this layout;
- ``library``: the version of auxcal that wrote it;
- ``class`` and ``params``: the calibrator's class and constructor arguments;
- ``state``: the fitted attributes, with ``{"tensor": name}`` in place of an array;
- ``inputs`` and ``fitted_on``: what it takes, with names, and what it was fitted on;
- ``reference``: a summary of the rows of the fit;
- ``fit_rows``: hashes of these rows; not where many are equal;
- ``certificate``: a threshold with its promise, if one was found;
- ``adaptation``: the mix that it was adapted to, if it was;
- ``digest``: SHA-256 of all of the above and the tensors, which detects a damaged file.

Nothing in a file can run code: the class is looked up among the calibrators that are already imported, and everything
else is numbers and strings.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from auxcal._core.arrays import as_whole
from auxcal._core.errors import FileFormatError, InvalidInputError
from auxcal._core.files import as_path
from auxcal._core.float_errors import ignore_float_errors
from auxcal._core.state import (
    Header,
    Tensors,
    check_learned,
    digest,
    from_json,
    read_state,
    state_bytes,
    to_json,
    write_state,
)
from auxcal.adaptation import Adaptation
from auxcal.calibrators import CALIBRATORS, Calibrator, Certificate
from auxcal.calibrators.fitting import FitRows
from auxcal.inputs import FittedOn, Inputs
from auxcal.reference import Reference
from auxcal.thresholds.certificate import FoundOn

FORMAT = 1
"""The newest layout."""

_MOST_FEATURES = 2**31  # beyond any classifier
_MOST_TRIED = 2**16  # classes and features up to which a calibrator scores a row when it is loaded


@ignore_float_errors
def save(calibrator: Calibrator, path: str | os.PathLike[str]) -> None:
    """Write a fitted calibrator to a file; an interrupted save leaves the old file intact.

    Examples
    --------
    >>> import tempfile
    >>> import auxcal
    >>> fitted = auxcal.TemperatureScaling().fit([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]] * 2, [0, 1, 0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     auxcal.save(fitted, f"{folder}/temperature.safetensors")
    ...     auxcal.load(f"{folder}/temperature.safetensors").temperature_ == fitted.temperature_
    True
    """
    write_state(as_path(path), *_describe(calibrator))


@ignore_float_errors
def to_bytes(calibrator: Calibrator) -> bytes:
    """Return what `save` writes, to send it to the workers of an engine."""
    return state_bytes(*_describe(calibrator))


def fingerprint(calibrator: Calibrator) -> str:
    """Return a digest of everything that determines the scores of a calibrator.

    Examples
    --------
    >>> import auxcal
    >>> from auxcal.persistence import fingerprint
    >>> first, second = (auxcal.Uncalibrated().fit([[2.0, 0.0], [0.0, 1.0]], [0, 1]) for _ in range(2))
    >>> fingerprint(first) == fingerprint(second)
    True
    """
    tensors: Tensors = {}
    return digest(_describe_scores(calibrator, tensors), tensors)


def _describe(calibrator: Calibrator) -> tuple[Header, Tensors]:
    """Return the header and the tensors of the file of a fitted calibrator."""
    calibrator = copy.copy(calibrator)  # which another thread may be fitting
    _check_savable(calibrator)
    tensors: Tensors = {}
    header = _describe_scores(calibrator, tensors) | {"format": FORMAT, "fitted_on": asdict(calibrator.fitted_on_)}
    for name, part in (("reference", calibrator.reference_), ("fit_rows", calibrator.fit_rows_)):
        if part is not None:
            known = {key: value for key, value in part._asdict().items() if value is not None}
            header[name] = to_json(known, name, tensors)
    return header, tensors


def _describe_scores(calibrator: Calibrator, tensors: Tensors) -> Header:
    """Return the part of the header that determines the scores, and add its arrays to the tensors."""
    header = {
        "class": type(calibrator).__name__,
        "params": to_json(calibrator.get_params(deep=False), "params", tensors),
        "state": {name: to_json(value, name, tensors) for name, value in calibrator._learned_state().items()},
        "inputs": calibrator.inputs_.as_state(),
    }
    if calibrator.adaptation_ is not None:
        header["adaptation"] = to_json(calibrator.adaptation_._asdict(), "adaptation", tensors)
    if calibrator.certificate_ is not None:
        found_on = calibrator.certificate_.found_on
        kept = {} if found_on is None else {"found_on": found_on._asdict()}
        header["certificate"] = to_json(calibrator.certificate_.as_json() | kept, "certificate", tensors)
    return header


def _check_savable(calibrator: Any) -> None:
    """Reject what is not fitted, and a class of the user's own that a file would take for one of auxcal's."""
    if not isinstance(calibrator, Calibrator):
        raise InvalidInputError(
            f"calibrator must be a fitted auxcal.Calibrator; got {type(calibrator).__name__}. Fit one first."
        )
    kind = type(calibrator)
    if not calibrator.__sklearn_is_fitted__():
        from auxcal._core.errors import NotFittedError  # which imports scikit-learn

        raise NotFittedError(f"this {kind.__name__} is not fitted, so there is nothing to save. Fit it first.")
    if _by_name(CALIBRATORS.values()).get(kind.__name__, kind) is not kind:
        raise InvalidInputError(
            f"this {kind.__name__} is not the one of auxcal, which a file would be taken for. Give your class another "
            f"name."
        )


def load(path: str | os.PathLike[str]) -> Calibrator:
    """Load a calibrator that `save` wrote, ready to score, without importing torch.

    A file that is truncated, changed, of another kind or from a newer version raises a `FileFormatError`.

    Examples
    --------
    >>> import auxcal
    >>> auxcal.load("nowhere.safetensors")
    Traceback (most recent call last):
    ...
    FileNotFoundError: No such file or directory: nowhere.safetensors
    """
    return _loaded(as_path(path))


def from_bytes(contents: bytes) -> Calibrator:
    """Return the calibrator that `to_bytes` gave."""
    return _loaded(contents)


@ignore_float_errors
def _loaded(source: Path | bytes) -> Calibrator:
    path = source if isinstance(source, Path) else f"{len(source)} bytes"
    header, tensors = read_state(source, "calibrator", {"class": str, "params": dict, "state": dict}, FORMAT)
    kind = _class_named(header["class"], path)
    try:
        calibrator = kind(**from_json(header["params"], tensors))
        _set_state(calibrator, {name: from_json(value, tensors) for name, value in header["state"].items()})
        k, d = calibrator.n_features_in_, calibrator.n_further_features_
        calibrator.inputs_ = Inputs.from_state(**from_json(header["inputs"], tensors))
        calibrator.inputs_.check(k, d)
        calibrator.fitted_on_ = FittedOn(**header["fitted_on"])
        calibrator.fitted_on_.check()
        parts: dict[str, tuple[Any, ...]] = {  # with the sizes that they must have
            "reference": (Reference, k, len(calibrator.reading_names)),
            "fit_rows": (FitRows,),
            "certificate": (_certificate, k),
            "adaptation": (Adaptation, calibrator._n_strata),
        }
        for name, (kind_of_part, *sizes) in parts.items():
            if name in header:
                part = kind_of_part(**from_json(header[name], tensors))
                part.check(*sizes)
                setattr(calibrator, f"{name}_", part)
        if k + d <= _MOST_TRIED:  # a file of a few bytes could ask for gigabytes
            zeros = np.zeros((1, k + d), dtype=np.float32)
            calibrator.score_validated(zeros[:, :k], zeros[:, k:] if d else None)
    except Exception as error:  # a state that does not fit its class can fail in as many ways as there are classes
        raise FileFormatError(
            f"{path}: the fitted state does not fit a {header['class']}: {type(error).__name__}: {error}. "
            f"Save the calibrator again."
        ) from error
    return calibrator


def _certificate(**kept: Any) -> Certificate:
    found_on = {"found_on": FoundOn(**kept["found_on"])} if "found_on" in kept else {}
    return Certificate(**kept | found_on)


def _set_state(calibrator: Calibrator, state: dict[str, Any]) -> None:
    """Set the fitted attributes, after the method's checks."""
    if any(not name.endswith("_") or name.startswith("_") for name in state):  # none may hide a method
        raise ValueError("there are other attributes than those of a fit")
    for name, value in state.items():
        setattr(calibrator, name, value)
    k, d = as_whole(calibrator.n_features_in_, "K", least=1), as_whole(calibrator.n_further_features_, "d", least=0)
    if d > _MOST_FEATURES:
        raise ValueError("there are too many features")
    if not isinstance(calibrator.converged_, bool):
        raise ValueError("converged_ must be true or false")
    if d and not calibrator.uses_features:
        raise ValueError("it has features, which the method does not use")
    checks = vars(type(calibrator)).get("learned")
    if checks is not None:
        counts = ("n_features_in_", "n_further_features_", "converged_")
        own = {name: value for name, value in state.items() if name not in counts}
        check_learned(checks, own, {"K": k, "d": d, "x": k + d})


def _class_named(name: str, path: Path | str) -> type[Calibrator]:
    """Find a class among the library's calibrators, or among the user's own that are already imported."""
    own: type = Calibrator  # as a plain type, since mypy takes no abstract class for a type[Calibrator]
    by_name = _by_name([*_subclasses(own), *CALIBRATORS.values()])
    if name not in by_name:
        raise FileFormatError(
            f"{path}: expected a calibrator whose class is imported; got a {name}. Import the module that defines it "
            f"before loading, or upgrade with git pull && pip install . in a clone of auxcal."
        )
    return by_name[name]


def _by_name(kinds: Iterable[type[Calibrator]]) -> dict[str, type[Calibrator]]:
    return {kind.__name__: kind for kind in kinds}


def _subclasses(kind: type[Calibrator]) -> list[type[Calibrator]]:
    return [kind for child in kind.__subclasses__() for kind in (child, *_subclasses(child))]
