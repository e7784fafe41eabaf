"""Files of language models' answers as tables: what `--labels` and `--truth` do for every command that reads logits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from auxcal._core.errors import InvalidInputError
from auxcal._core.files import STANDARD, is_url
from auxcal.cli.output import echo_error

if TYPE_CHECKING:
    from auxcal.calibrators import Calibrator
    from auxcal.tables import AnswersFile, AnswersFolder, TableSpec


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
    from auxcal.inputs import LogitInputs
    from auxcal.llm import holds_answers

    parts = {path: files for path in arguments["files"] if (files := _files_at(path, arguments))}
    if not parts or not (labels or truth or all(map(holds_answers, chain(*parts.values())))):
        return arguments
    table, fitted = arguments["table"], _calibrator_of(arguments)
    known = LogitInputs() if fitted is None else fitted.inputs_
    names = labels.split(",") if labels else known.class_names or known.answers
    by = arguments.get("by") or ()
    others = [*([by] if isinstance(by, str) else by), *([table.weight] if table.weight else [])]
    own = table.signals or (() if fitted is None else _signals_of(fitted))
    reading = _Reading(names, truth, table, others, own, fitted, arguments)
    if reading.lines and not str(arguments["out"]).endswith(".jsonl"):
        _check_parts(chain(*parts.values()))
    read = {path: [reading.read(file) for file in files] for path, files in parts.items()}
    every = list(chain(*read.values()))
    if "test" in arguments or "select" in arguments:
        _check_some_known(every)
    if truth and not table.correct:
        _check_some_right(every)
    found, wanted = _columns(arguments, fitted, every, others)
    signals = list(chain(*(file.answers.signals for file in every), wanted))  # the same in every part
    changed: dict[str, Any] = {}
    for name in ("test", "select", "labelled"):
        if arguments.get(name) is not None:
            changed[name] = file = reading.read(arguments[name], labelled=True).with_signals(signals)
            found |= {} if file.answers.y is None else {"label": file.label}
    changed["files"] = [
        _as_table(path, [file.with_signals(signals) for file in read[path]]) if path in read else path
        for path in arguments["files"]
    ]
    return arguments | changed | {"table": replace(table, **found)}


def _files_at(path: Path | str, arguments: dict[str, Any]) -> list[Path]:
    """Return the files at a path that may hold answers: itself, or all parts of a folder or pattern; none else."""
    from auxcal.llm import FILES
    from auxcal.tables.parts import LocalFile, find_parts

    if is_url(str(path)) or str(path) == STANDARD:
        return []
    file = LocalFile(Path(path))
    files = [file.path]
    if file.is_dir() or file.is_pattern:
        files = [Path(part.file) for part in find_parts(file) if not part.is_blank]
    if not all(each.suffix.lower() in FILES for each in files):
        return []
    if "pilot" in arguments and any(_has_key(each, arguments["table"].confidence) for each in files):
        return []  # for auxcal plan, lines with scores are a table
    return files


def _check_parts(files: Iterable[Path]) -> None:
    """Refuse to write the lines of JSON of a folder under names that say something else."""
    other = next((file for file in files if file.suffix != ".jsonl"), None)
    if other is not None:
        raise InvalidInputError(
            f"{other}: a part of a folder is written under the same name, as lines of JSON. Write to a file, with "
            f"--out scored.jsonl, or rename the parts."
        )


def _has_key(path: Path, key: str) -> bool:
    """Whether the first record of a file has a key."""
    from auxcal.llm.records import read_records

    first = next(read_records(path), None)
    return first is not None and key in (first.value or {})


def _as_table(path: Path | str, files: Sequence[AnswersFile]) -> AnswersFile | AnswersFolder:
    """Return the files that were read at a path as one table."""
    from auxcal.tables import AnswersFolder

    return files[0] if files[0].path == Path(path) else AnswersFolder(Path(path), tuple(files))


def _check_some_known(files: Sequence[AnswersFile]) -> None:
    """Refuse to learn from answers without a truth."""
    if any(file.answers.logits is not None and file.answers.y is None for file in files):
        raise InvalidInputError(
            f"{_listed(files)}: the true labels are not known, which go with log-probabilities of labels. Name their "
            f"key, or a table with the columns id and truth, with --truth."
        )
    if all(file.answers.correct is None for file in files):
        raise InvalidInputError(
            f"{_listed(files)}: which answers are right is not known. Name the key of the true answer, or a table with "
            f"the columns id and truth, with --truth; or the key of whether an answer is right with --correct."
        )


def _check_some_right(files: Sequence[AnswersFile]) -> None:
    """Refuse texts of which not one is its truth: nearly always sentences around it."""
    from auxcal.tables.parts import shortened

    compared = [file for file in files if file.answers.labels is None and file.answers.correct is not None]
    if compared and not any(file.answers.correct.any() for file in compared if file.answers.correct is not None):
        n, first = sum(len(file.answers) for file in compared), compared[0].answers.prediction[0]
        raise InvalidInputError(
            f"{_listed(files)}: none of {n:,} answers is its truth, word for word; the first is "
            f"{shortened(str(first))!r}. Name what the model may answer with --labels, or the key of whether an answer "
            f"is right with --correct."
        )


def _listed(files: Sequence[AnswersFile]) -> str:
    return " and ".join(map(str, files))


def _columns(
    arguments: dict[str, Any], fitted: Calibrator | None, files: Sequence[AnswersFile], others: list[str]
) -> tuple[dict[str, Any], Sequence[str]]:
    """Return where things are in a table of answers, and the signals to read: those of the fit, or all that serve.

    Without logits, signals take their place.
    """
    from auxcal.calibrators import CALIBRATORS, SignalCalibrator, method_named

    answers = files[0].answers
    if isinstance(fitted, SignalCalibrator):
        return {"signals": None, "correct": "correct"}, fitted.columns.names
    all_signals = tuple(dict.fromkeys(chain(*(file.all_signals(others) for file in files))))
    if answers.logits is None:
        inputs = replace(arguments["table"].inputs, answers=answers.labels)
        return {"signals": all_signals, "correct": "correct", "inputs": inputs}, ()
    found: dict[str, Any] = {"class_names": answers.labels, "signals": None}
    found |= {} if answers.y is None else {"label": files[0].label}
    method = arguments.get("method")
    uses = method is None or CALIBRATORS[method_named(method)].uses_features
    features = _signals_of(fitted) if fitted else all_signals if uses else ()
    return found | {"features": features}, features


def _signals_of(fitted: Calibrator) -> Sequence[str]:
    """Return the signals that a calibrator was fitted with."""
    from auxcal.calibrators import SignalCalibrator

    if isinstance(fitted, SignalCalibrator):
        return fitted.columns.names
    table = fitted.inputs_.feature_table
    return (fitted.inputs_.feature_names or ()) if table is None else table.names


class _Reading:
    """How the files of a command are read."""

    def __init__(
        self,
        labels: Sequence[str] | None,
        truth: str | None,
        table: TableSpec,
        others: list[str],
        own: Sequence[str],
        fitted: Calibrator | None,
        arguments: dict[str, Any],
    ) -> None:
        from auxcal.llm import SIGNALS

        bad, ids = arguments.get("on_bad_rows", table.on_bad_rows), arguments.get("id_")
        self.lines = "proba" in arguments and _writes_lines(str(arguments["out"]))  # of auxcal score
        # Lines without a truth are scored too, and those that auxcal adapt reads beside labelled ones need none.
        logits = fitted is None or not fitted.takes_signals
        self._truth = None if (self.lines and logits) or "labelled" in arguments else truth
        known = fitted.inputs_.label_name if fitted is not None and "labelled" in arguments and logits else None
        self._truth_of_labelled = truth or known
        self._options: dict[str, Any] = {
            "labels": None if labels is None else [name.strip() for name in labels],
            "group": table.group,
            "id": ids,
            "correct": table.correct,
            "signals": list(dict.fromkeys([*others, *(name for name in own if name not in SIGNALS)])),
            "on_bad_rows": "fail" if bad == "fail" else "skip",
        }
        # What the lines that auxcal score writes call it, so that the calibrator knows the column.
        label = self._truth_of_labelled
        self._names = {"label": label} if label is not None and label.isidentifier() else {}
        self._names |= {name: key for name, key in (("id", ids), ("group", table.group)) if key is not None}
        self._read: dict[tuple[Path, str | None], AnswersFile] = {}

    def read(self, path: Path | str, *, labelled: bool = False) -> AnswersFile:
        """Return a file of answers; `labelled` where a command takes labels in a file beside the others."""
        from auxcal.llm import read
        from auxcal.tables import AnswersFile

        place, truth = Path(path), self._truth_of_labelled if labelled else self._truth
        if (place, truth) not in self._read:
            answers = read(place, truth=truth, **self._options)
            if answers.logits is None and not answers.signals:
                raise InvalidInputError(
                    f"{path}: there are neither log-probabilities of labels nor signals. Name what the model may "
                    f"answer with --labels, and ask the server for log-probabilities."
                )
            if answers.unanswered:
                why = ", ".join(f"{count:,} {reason}" for reason, count in answers.unanswered.items())
                n, what = sum(answers.unanswered.values()), "have no score" if self.lines else "are left out"
                echo_error(f"{path}: {n:,} of {len(answers.answered):,} questions have no answer ({why}) and {what}.")
            self._read[place, truth] = AnswersFile(place, answers, lines=self.lines, **self._names)
        return self._read[place, truth]


def _writes_lines(out: str) -> bool:
    """Whether scores are written as lines of JSON: to such a file, or to a folder, as the lines that are read are."""
    from auxcal.tables.write_scores import is_folder

    return out.endswith(".jsonl") or is_folder(out)


def _calibrator_of(arguments: dict[str, Any]) -> Calibrator | None:
    """Return the calibrator that a command takes."""
    given = [arguments.get("calibrator"), *arguments["files"]]
    path = next((each for each in given if each is not None and Path(each).suffix == ".safetensors"), None)
    if path is None:
        return None
    from auxcal.persistence import load

    return load(path)
