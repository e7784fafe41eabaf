"""A calibrator in a notebook: the method, what was chosen and what was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from auxcal._core.text import card, first_line, grid, note
from auxcal.calibrators._facts import NOT_KNOWN, facts

if TYPE_CHECKING:
    from auxcal.calibrators._base import Calibrator

_SAID = (
    "converged_",
    "n_features_in_",
    "n_further_features_",
    "inputs_",
    "fitted_on_",
    "reference_",
    "adaptation_",
)  # in words, above the table
_SHOWN = ("takes", "classes", "fitted on")  # of the facts


def to_html(calibrator: Calibrator) -> str:
    """Return the card of a calibrator, fitted or not."""
    kind = type(calibrator)
    about = f"{first_line(kind, kind.abbreviation)} {kind.reference}."
    if not calibrator.__sklearn_is_fitted__():
        return card(repr(calibrator), about, note("Not fitted yet: call fit(logits, y)."))
    learned = {name: value for name, value in sorted(vars(calibrator).items()) if name.endswith("_")}
    numbers = [(name, _formatted(value)) for name, value in learned.items() if _is_scalar(value) and name not in _SAID]
    others = [_described(name, value) for name, value in learned.items() if not _is_scalar(value) and name not in _SAID]
    known = [(name, fact) for name, fact in facts(calibrator).items() if name in _SHOWN and NOT_KNOWN not in fact]
    d = calibrator.n_further_features_
    inputs = f"K = {calibrator.n_features_in_} classes" + (f" and {d} features of each sample" if d else "")
    state = "converged" if calibrator.converged_ else "did not converge"
    return card(
        repr(calibrator),
        about,
        note(f"Fitted for {inputs}; {state}."),
        *(note(f"{name[0].upper()}{name[1:]}: {fact}.") for name, fact in known),
        *([grid(numbers)] if numbers else []),
        *([note("; ".join(others))] if others else []),
    )


def _is_scalar(value: Any) -> bool:
    return isinstance(value, bool | int | float | str | np.generic)


def _formatted(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def _described(name: str, value: Any) -> str:
    """Say what a collection holds."""
    if isinstance(value, dict):
        return f"{name}: {', '.join(value)}"
    return f"{name}: {', '.join(_shapes(value))}"


def _shapes(value: Any) -> list[str]:
    """Return the shape of an array, or of all arrays in a tuple, however deep."""
    if isinstance(value, tuple | list):
        return [shape for part in value for shape in _shapes(part)]
    return [] if _is_scalar(value) else ["×".join(map(str, np.shape(value)))]
