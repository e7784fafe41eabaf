"""Files of language models' answers as tables: what `--labels` and `--truth` do for every command that reads logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from auxcal._core.errors import InvalidInputError
from auxcal.cli.output import echo_error

if TYPE_CHECKING:
    from auxcal.calibrators import Calibrator
    from auxcal.tables import AnswersFile, TableSpec


def declared(
    labels: Annotated[
        str | None,
        "Of a file with a language model's answers: what it may answer, comma-separated, such as A,B,C,D. [default: "
        "what the calibrator was fitted on]",
    ] = None,
    truth: Annotated[
        str | None,
        "Of such a file: the key of the true answer, or a table with the columns id and truth. [default: what the file "
        "has]",
    ] = None,
) -> None:
    """Declare the options."""


def with_answers(arguments: dict[str, Any], labels: str | None, truth: str | None) -> dict[str, Any]:
    """Return the arguments of a command in which files of answers are read, and the table says what they hold."""
    from auxcal.inputs import Inputs
    from auxcal.llm import FILES, holds_answers

    files = [path for path in arguments["files"] if Path(path).suffix.lower() in FILES]
    if not files or not (labels or truth or all(map(holds_answers, files))):
        return arguments
    table, fitted = arguments["table"], _calibrator_of(arguments)
    known = Inputs() if fitted is None else fitted.inputs_
    names = labels.split(",") if labels else known.class_names or known.answers
    by = arguments.get("by") or ()
    signals_in = fitted is not None and fitted.takes_signals
    own = table.signals or (() if fitted is None else _signals_of(fitted))
    reading = _Reading(names, truth, table, [by] if isinstance(by, str) else list(by), own, not signals_in, arguments)
    first = reading.read(files[0])
    found, signals = _columns(arguments, fitted, first, reading.others)
    paths = {name: arguments.get(name) for name in ("test", "select")}
    changed: dict[str, Any] = {name: reading.read(each, signals) for name, each in paths.items() if each is not None}
    changed["files"] = [reading.read(path, signals) if path in files else path for path in arguments["files"]]
    return arguments | changed | {"table": replace(table, **found)}


def _columns(
    arguments: dict[str, Any], fitted: Calibrator | None, first: AnswersFile, others: list[str]
) -> tuple[dict[str, Any], Sequence[str]]:
    """Return where things are in a table of answers, and the signals to read: those of the fit, or all that serve.

    Without logits, signals take their place.
    """
    from auxcal.calibrators import CALIBRATORS, SignalCalibrator, method_named

    answers = first.answers
    if isinstance(fitted, SignalCalibrator):
        return {"signals": None, "correct": "correct"}, fitted.columns.names
    if answers.logits is None:
        inputs = replace(arguments["table"].inputs, answers=answers.labels)
        return {"signals": first.all_signals(others), "correct": "correct", "inputs": inputs}, ()
    found = {"class_names": answers.labels, "signals": None} | ({} if answers.y is None else {"label": first.label})
    method = arguments.get("method")
    uses = method is None or CALIBRATORS[method_named(method)].uses_features
    features = _signals_of(fitted) if fitted else first.all_signals(others) if uses else ()
    return found | {"features": features}, features


def _signals_of(fitted: Calibrator) -> Sequence[str]:
    """Return the signals that a calibrator was fitted with."""
    from auxcal.calibrators import SignalCalibrator
    from auxcal.signals import FeatureTable

    if isinstance(fitted, SignalCalibrator):
        return fitted.columns.names
    table = fitted.inputs_.feature_table
    return (fitted.inputs_.feature_names or ()) if table is None else FeatureTable(*table).names


class _Reading:
    """How the files of a command are read."""

    def __init__(
        self,
        labels: Sequence[str] | None,
        truth: str | None,
        table: TableSpec,
        others: list[str],
        own: Sequence[str],
        logits: bool,
        arguments: dict[str, Any],
    ) -> None:
        from auxcal.llm import SIGNALS

        self.others = others
        bad = arguments.get("on_bad_rows", table.on_bad_rows)
        lines = "proba" in arguments and str(arguments["out"]).endswith(".jsonl")  # of auxcal score
        self._options: dict[str, Any] = {
            "labels": None if labels is None else [name.strip() for name in labels],
            "truth": None if lines and logits else truth,  # lines without a truth are scored too
            "group": table.group,
            "correct": table.correct,
            "signals": list(dict.fromkeys([*others, *(name for name in own if name not in SIGNALS)])),
            "on_bad_rows": "fail" if bad == "fail" else "skip",
        }
        self._lines = lines
        # What the lines that auxcal score writes call it, so that the calibrator knows the column.
        self._label = truth if truth is not None and truth.isidentifier() else "y"
        self._read: dict[Path, AnswersFile] = {}

    def read(self, path: Path | str, features: Sequence[str] = ()) -> AnswersFile:
        """Return a file of answers with all signals that are asked for."""
        from auxcal.llm import read
        from auxcal.tables import AnswersFile

        place = Path(path)
        if place not in self._read:
            answers = read(place, **self._options)
            if answers.logits is None and not answers.signals:
                raise InvalidInputError(
                    f"{path}: there are neither log-probabilities of labels nor signals. Name what the model may "
                    f"answer with --labels, and ask the server for log-probabilities."
                )
            if answers.unanswered:
                why = ", ".join(f"{count:,} {reason}" for reason, count in answers.unanswered.items())
                n, what = sum(answers.unanswered.values()), "have no score" if self._lines else "are left out"
                echo_error(f"{path}: {n:,} of {len(answers.answered):,} questions have no answer ({why}) and {what}.")
            self._read[place] = AnswersFile(place, answers, lines=self._lines, label=self._label)
        return self._read[place].with_signals(features)


def _calibrator_of(arguments: dict[str, Any]) -> Calibrator | None:
    """Return the calibrator that a command takes."""
    given = [arguments.get("calibrator"), *arguments["files"]]
    path = next((each for each in given if each is not None and Path(each).suffix == ".safetensors"), None)
    if path is None:
        return None
    from auxcal.persistence import load

    return load(path)
