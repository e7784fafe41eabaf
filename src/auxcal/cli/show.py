"""auxcal show: what a saved calibrator knows."""

from __future__ import annotations

from auxcal.cli._terminal import CalibratorFile, Json, say, say_json


def show(calibrator: CalibratorFile, json: Json = False) -> None:
    """Show what a saved calibrator is, what it takes, and what it was fitted on.

    Examples
    --------
    auxcal show ccac-x.safetensors
    auxcal show ccac-x.safetensors --json
    """
    from auxcal.calibrators.facts import as_json, facts
    from auxcal.persistence import load

    fitted = load(calibrator)
    if json:
        say_json(as_json(fitted))
        return
    for name, fact in facts(fitted).items():
        say(f"{name:<12}{fact}")
