"""Parameters: the arguments of the constructor, which say how to fit."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.base import clone

from auxcal.calibrators import Calibrator
from auxcal.persistence import from_bytes, to_bytes
from auxcal.testing._assertions import demand
from auxcal.testing._serving_checks import run_in_numpy
from auxcal.testing._trials import fit, sample


def parameters_survive_a_clone(calibrator: Calibrator) -> None:
    """`__init__` only stores its arguments, and `clone` and `get_params` return them."""
    params = calibrator.get_params(deep=False)
    built = type(calibrator)(**params)
    for name, value in params.items():
        demand(getattr(built, name) is value, f"__init__ must store {name} as it is given, and nothing else")
    demand(str(clone(calibrator).get_params()) == str(calibrator.get_params()), "clone must keep every parameter")


def parameters_are_read_by_fit_alone(calibrator: Calibrator) -> None:
    """Parameters that are set after a fit change nothing before the next one: no score, no program, no file."""
    data = sample()
    fitted = fit(calibrator, data)
    before = fitted.predict_confidence(data.logits), run_in_numpy(fitted, data.logits, None)[1]
    for name, value in fitted.get_params(deep=False).items():
        for other in _other_values(fitted, name, value):
            fitted.set_params(**{name: other})
            after = fitted.predict_confidence(data.logits), run_in_numpy(fitted, data.logits, None)[1]
            same = all(map(np.array_equal, before, after))
            demand(same, f"{name}={other!r}, set after the fit, changes the confidence: read it in fit alone")
            if type(other) is not object:
                loaded = from_bytes(to_bytes(fitted)).predict_confidence(data.logits)
                demand(np.array_equal(loaded, before[0]), f"{name}={other!r}, set after the fit, changes the file")
        fitted.set_params(**{name: value})


def _other_values(calibrator: Calibrator, name: str, value: Any) -> list[Any]:
    """Return valid values of a parameter where its kind tells them, else one that nothing can be done with."""
    hint = get_type_hints(type(calibrator).__init__).get(name)
    others = [other for other in get_args(hint) if get_origin(hint) is Literal and other != value]
    if isinstance(value, int | float):
        others.append(value + 1)
    return others or [object()]
