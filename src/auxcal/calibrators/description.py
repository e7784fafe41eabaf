"""A calibrator described: in words, as JSON, and as a card in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from auxcal._core.text import card, first_line, grid, note, percent
from auxcal.inputs import NOT_KNOWN

if TYPE_CHECKING:
    from auxcal.calibrators.base import Calibrator

_SHOWN = ("takes", "signals", "classes", "fitted on")  # of the facts


def facts(calibrator: Calibrator) -> dict[str, str]:
    """Return what a fitted calibrator is, what it takes and what it was fitted on, in words."""
    inputs, k, d = calibrator.inputs_, calibrator.n_features_in_, calibrator.n_further_features_
    line = first_line(type(calibrator), calibrator.abbreviation)  # which most often has the abbreviation
    ood = f"; no class: {', '.join(inputs.no_class)}" if inputs.no_class else ""
    return {
        "method": line if calibrator.abbreviation in line else f"{calibrator.abbreviation}: {line}",
        **inputs.described(k, d),
        "label": f"{inputs.label_name or NOT_KNOWN}{ood}",
        "fitted on": _rows(calibrator),
        "promise": str(calibrator.certificate_ or "none"),
        "adapted to": _adapted(calibrator),
        "fit": "converged" if calibrator.converged_ else "did not converge",
        "parameters": ", ".join(f"{name}={value!r}" for name, value in calibrator.get_params().items()) or "none",
    }


def as_json(calibrator: Calibrator) -> dict[str, Any]:
    """Return the same, ready for JSON; what is not known is None."""
    inputs, rows = calibrator.inputs_, calibrator.fitted_on_
    return {
        "method": calibrator.abbreviation,
        "kind": inputs.kind,
        "classes": calibrator.n_features_in_,
        "class_names": inputs.class_names,
        "columns": inputs.column_names,
        "features": calibrator.n_further_features_,
        "feature_names": inputs.feature_names,
        "label": inputs.label_name,
        "no_class_labels": inputs.no_class,
        "rows": rows.n_rows,
        "no_class": rows.n_no_class,
        "date": rows.date,
        "certificate": calibrator.certificate_ and calibrator.certificate_.as_json(),
        "adapted_to": None if (adaptation := calibrator.adaptation_) is None else adaptation.as_json(),
        "converged": calibrator.converged_,
        "parameters": calibrator.get_params(),
    }


def _adapted(calibrator: Calibrator) -> str:
    """Return what it was adapted to, with the shares that changed most."""
    adaptation = calibrator.adaptation_
    if adaptation is None:
        return "nothing"
    labelled, k = (
        f" and {adaptation.n_labelled:,} with labels" if adaptation.n_labelled else "",
        calibrator.n_features_in_,
    )
    names = ["right", "wrong", "no class"][: len(adaptation.shares)]
    if len(adaptation.shares) == k + 1 > 2:
        names = [*(calibrator.inputs_.class_names or [f"class {index}" for index in range(k)]), "no class"]
    order = np.argsort(-np.abs(adaptation.shares - adaptation.before), kind="stable")[:3]
    changes = [f"{names[at]} {percent(adaptation.before[at])} to {percent(adaptation.shares[at])}" for at in order]
    return f"{adaptation.n_rows:,} rows without labels{labelled}, {_when(adaptation.date)}: {', '.join(changes)}"


def _when(date: str) -> str:
    return date.replace("T", " ").replace("Z", " UTC")


def _rows(calibrator: Calibrator) -> str:
    rows = calibrator.fitted_on_
    if rows.n_rows is None or rows.n_no_class is None:
        return NOT_KNOWN
    when = f", {_when(rows.date)}" if rows.date else ""
    return (
        f"{rows.n_rows:,} rows, {percent(rows.n_no_class / rows.n_rows)} of them {calibrator.inputs_.wrong_share}{when}"
    )


def to_html(calibrator: Calibrator) -> str:
    """Return the card of a calibrator, fitted or not."""
    kind = type(calibrator)
    about = f"{first_line(kind, kind.abbreviation)} {kind.reference}."
    if not calibrator.__sklearn_is_fitted__():
        return card(repr(calibrator), about, note("Not fitted yet: call fit(logits, y)."))
    numbers = [
        (name, f"{value:.4g}" if isinstance(value, float | np.floating) else value)
        for name, value in sorted(calibrator._learned_state().items())
        if isinstance(value, float | np.floating | str)
    ]
    shown = [(name, fact) for name, fact in facts(calibrator).items() if name in _SHOWN and NOT_KNOWN not in fact]
    state = "converged" if calibrator.converged_ else "did not converge"
    return card(
        repr(calibrator),
        about,
        note(f"Fitted; {state}."),
        *(note(f"{name[0].upper()}{name[1:]}: {fact}.") for name, fact in shown),
        *([grid(numbers)] if numbers else []),
    )
