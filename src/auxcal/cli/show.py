"""auxcal show: what a calibrator file holds."""

from auxcal.cli._files import load_calibrator
from auxcal.cli._options import CalibratorFile, Json
from auxcal.cli.output import echo_result


def show(calibrator: CalibratorFile, json: Json = False) -> None:
    """Show what a saved calibrator is, what it takes, and what it was fitted on.

    Examples
    --------
    auxcal show ccac-x.safetensors
    auxcal show ccac-x.safetensors --json
    """
    from auxcal.calibrators.facts import as_json, facts

    fitted = load_calibrator(calibrator)
    echo_result(as_json(fitted), (f"{name:<12}{fact}" for name, fact in facts(fitted).items()), json=json)
