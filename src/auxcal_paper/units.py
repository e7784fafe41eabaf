"""A unit of the runner: one calibrator fitted once and measured, and the cache of those that are done."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from auxcal._core.errors import AuxcalError, AuxcalWarning
from auxcal._core.files import atomic_write
from auxcal._core.threads import one_thread
from auxcal._version import VERSION
from auxcal.calibrators import Calibrator
from auxcal.calibrators.transferable import Transferable
from auxcal.metrics import evaluate
from auxcal.persistence import load
from auxcal.predictions import Predictions
from auxcal_paper.methods import METHODS, TRANSFER_SIZES
from auxcal_paper.results import Row


@dataclass(frozen=True)
class Unit:
    """The full specification of one result.

    Parameters
    ----------
    suite, shift, method : str
        What is measured.
    random_state : int
        The source of the split and of the fit.
    sizes : tuple of int
        The rows of the fit, select and test part.
    digest : str
        The hash of the bundle, from `digest_of`.
    code : str
        The hash of the code that fits and measures, from `code_digest`.
    source : Unit, optional
        For a transfer: the unit whose calibrator it starts from.
    """

    suite: str
    shift: str
    method: str
    random_state: int
    sizes: tuple[int, int, int]
    digest: str
    code: str
    source: Unit | None = None

    def make(self) -> Calibrator:
        """Return the unfitted calibrator."""
        return METHODS[self.method].make(self.random_state)

    def spec(self) -> dict[str, Any]:
        """Return everything that the result depends on."""
        parameters = self.make().get_params()
        transfer = {"transfer_sizes": TRANSFER_SIZES} if self.source else {}
        return asdict(self) | {"parameters": parameters, "version": VERSION} | transfer

    @property
    def key(self) -> str:
        """A name for the unit's files, with a hash of its specification."""
        text = json.dumps(self.spec(), sort_keys=True)
        hashed = hashlib.sha256(text.encode()).hexdigest()[:16]
        return f"{self.suite}-{self.shift}-{self.method}-{self.random_state}-{hashed}"


@dataclass(frozen=True)
class UnitCache:
    """The finished units of a folder: for each a row as JSON, and the fitted calibrator.

    Both files are written whole or not at all, the row last: if it exists, so does the calibrator.
    """

    folder: Path

    def row(self, unit: Unit) -> Row | None:
        """Return the row of a unit, or None if it is not finished."""
        try:
            return Row.from_flat(json.loads((self.folder / f"{unit.key}.json").read_text(encoding="utf-8")))
        except (FileNotFoundError, KeyError, TypeError, ValueError):  # a damaged file is computed again
            return None

    def calibrator(self, unit: Unit) -> Calibrator | None:
        """Return the fitted calibrator of a unit, or None if there is none."""
        try:
            return load(self.folder / f"{unit.key}.safetensors")
        except (FileNotFoundError, AuxcalError):
            return None

    def put(self, unit: Unit, row: Row, calibrator: Calibrator) -> None:
        """Keep a finished unit."""
        self.folder.mkdir(parents=True, exist_ok=True)
        calibrator.save(self.folder / f"{unit.key}.safetensors")
        with atomic_write(self.folder / f"{unit.key}.json") as temporary:
            temporary.write_text(json.dumps(row.flat(), indent=1), encoding="utf-8")


def digest_of(predictions: Predictions) -> str:
    """Return a hash of a bundle's contents.

    Examples
    --------
    >>> from auxcal import Predictions
    >>> from auxcal_paper.units import digest_of
    >>> digest_of(Predictions([[1.0, 0.0]], [0])) == digest_of(Predictions([[1.0, 0.0]], [1]))
    False
    """
    digest = hashlib.sha256()
    for array in (predictions.logits, predictions.y):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def compute(unit: Unit, data: Predictions, source_data: Predictions | None, cache: UnitCache) -> tuple[Unit, Row]:
    """Fit and measure a unit on its bundle, and cache the result; `source_data` is the bundle of its source."""
    fit, select, test = data.split(*unit.sizes, random_state=unit.random_state)
    # Each process has its own unit: more threads would only wait for each other.
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", AuxcalWarning)  # the row has whether the fit converged
        if unit.source is not None and source_data is not None:
            start = _source(unit.source, source_data, cache)
            fit, select = _few_labels(fit, select)
            began = time.process_time()
            calibrator: Calibrator = start.transfer(fit.logits, fit.y, select=(select.logits, select.y))
        else:
            began = time.process_time()
            calibrator = unit.make()
            calibrator.fit(fit.logits, fit.y, select=select, groups=fit.groups)  # views of one image, say
        seconds = time.process_time() - began
        scores = evaluate(calibrator.predict_confidence(test.logits), test.correct)
    row = Row(
        suite=unit.suite,
        shift=unit.shift,
        method=unit.method,
        random_state=unit.random_state,
        n_fit=len(fit),
        n_select=len(select),
        n_test=len(test),
        accuracy=float(test.correct.mean()),
        fit_seconds=seconds,
        converged=calibrator.converged_,
        scores=scores,
    )
    cache.put(unit, row, calibrator)
    return unit, row


def _source(unit: Unit, data: Predictions, cache: UnitCache) -> Transferable:
    calibrator = cache.calibrator(unit)
    if not isinstance(calibrator, Transferable):
        compute(unit, data, None, cache)
        calibrator = cache.calibrator(unit)
    if not isinstance(calibrator, Transferable):
        raise AuxcalError(f"{cache.folder}: the calibrator of {unit.key} was written and can't be read.")
    return calibrator


def _few_labels(fit: Predictions, select: Predictions) -> tuple[Predictions, Predictions]:
    """Return as many labels as a transfer may use; a select part that is too small is filled up from the fit part."""
    n_fit, n_select = TRANSFER_SIZES
    logits = np.concatenate([select.logits, fit.logits[n_fit:]])
    y = np.concatenate([select.y, fit.y[n_fit:]])
    return fit.take(slice(n_fit)), Predictions(logits[:n_select], y[:n_select])
