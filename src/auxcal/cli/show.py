"""auxcal show: what a calibrator file, or a file of a language model's answers, holds."""

from pathlib import Path
from typing import Annotated

import typer

from auxcal.cli._files import load_calibrator
from auxcal.cli._options import Json
from auxcal.cli.output import echo_result


def show(
    file: Annotated[
        Path, typer.Argument(help="Calibrator file from auxcal fit, or a language model's answers: .jsonl or .json.")
    ],
    json: Json = False,
) -> None:
    """Show what a saved calibrator is, takes, and was fitted on; or what answers hold, and what to do with them.

    Examples
    --------
    auxcal show ccac-x.safetensors
    auxcal show ccac-x.safetensors --json
    auxcal show answers.jsonl
    """
    from auxcal.calibrators.description import as_json, facts
    from auxcal.llm import FILES, contents

    if file.suffix.lower() in FILES:
        held = contents(file)
        echo_result(held, (f"{name:<19}{fact}" for name, fact in held.items()), json=json)
        return
    fitted = load_calibrator(file)
    echo_result(as_json(fitted), (f"{name:<12}{fact}" for name, fact in facts(fitted).items()), json=json)
