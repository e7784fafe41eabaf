"""A folder with the results of comparisons: the page, the numbers as CSV and JSON, and the best calibrators."""

from __future__ import annotations

import csv
import json
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from auxcal._core.errors import AuxcalWarning, InvalidInputError, MissingExtraError
from auxcal._core.files import atomic_writes, check_apart
from auxcal._core.text import utf8, without_nan
from auxcal.report.comparison import Comparison

PAGE = "report.html"
NUMBERS = ("results.csv", "results.json")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how one begins


def make_folder(out: Path, inputs: Sequence[Path] = ()) -> None:
    """Create the folder before anything is computed for it; its files may be none of `inputs`, which are read."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(
            f"the folder {str(out)!r} can't be made ({error.strerror}). Choose another one."
        ) from error
    for name in (PAGE, *NUMBERS):
        check_apart(out / name, inputs)


def write_folder(comparisons: Sequence[Comparison], out: Path, inputs: Sequence[Path] = ()) -> list[Path]:
    """Write the page, `results.csv`, `results.json` and the best calibrator of each comparison: all of them, or none.

    Return what was written, the page first; without the extra `report` there is no page, and a warning.
    """
    make_folder(out, inputs)
    save_report, names = _page_writer(), calibrator_names(comparisons)
    paths = [out / name for name in ([PAGE] if save_report else []) + [*NUMBERS, *names]]
    for path in paths:
        check_apart(path, inputs)
    with atomic_writes(paths) as temporaries:
        *page, table, answers = temporaries[: len(paths) - len(names)]
        for comparison, temporary in zip(comparisons, temporaries[len(paths) - len(names) :], strict=True):
            comparison.best.measured()[0].save(temporary)
        _write_table(comparisons, table)
        answers.write_bytes(utf8(comparisons_as_json(comparisons) + "\n"))
        if save_report:
            save_report(comparisons, page[0], saved=names)
    return paths


def write_page(comparisons: Sequence[Comparison], out: Path, **options: Any) -> list[Path]:
    """Write only the page, and return it; without the extra `report` there is none, and a warning."""
    save_report = _page_writer()
    if save_report is None:
        return []
    save_report(comparisons, out / PAGE, **options)
    return [out / PAGE]


def _page_writer() -> Callable[..., None] | None:
    try:
        from auxcal.report.html import save_report
    except MissingExtraError as error:
        warnings.warn(f"{PAGE} is left out: {error}", AuxcalWarning, stacklevel=3)
        return None
    return save_report


def _write_table(comparisons: Sequence[Comparison], path: Path) -> None:
    rows = [row for comparison in comparisons for row in comparison.table]
    with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
        writer = csv.DictWriter(file, fieldnames=list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        for row in rows:  # a spreadsheet must not take a name for a formula
            texts = {key: cell for key, cell in row.items() if isinstance(cell, str) and cell.startswith(_FORMULA)}
            writer.writerow(row | {key: f"'{cell}" for key, cell in texts.items()})


def calibrator_names(comparisons: Sequence[Comparison]) -> list[str]:
    """Return a unique file name for each best calibrator, from its data and its method."""
    names: list[str] = []
    for comparison in comparisons:
        plain = re.sub(r"[^\w.-]+", "-", comparison.name).strip("-.") or "data"
        name = f"{plain}-{comparison.best.method}"
        names.append(name if name not in names else f"{name}-{len(names) + 1}")
    return [f"{name}.safetensors" for name in names]


def comparisons_as_json(comparisons: Sequence[Comparison]) -> str:
    """Return the answers and tables as JSON; a metric without a value is null."""
    outcomes = [
        {
            "data": comparison.name,
            "answer": str(comparison.answer),
            "verdict": comparison.answer.verdict,
            "best": comparison.best.method,
            "calibrator": name,
            "n_fit": comparison.n_fit,
            "n_test": len(comparison.test),
            "accuracy": comparison.answer.right,
            "mean_confidence": comparison.answer.confidence,
            "methods": comparison.table,
            "signals": [signal.as_dict() for signal in comparison.signals],
            "slices": {sliced.by: [row.as_dict() for row in sliced.after] for sliced in comparison.slices},
        }
        for comparison, name in zip(comparisons, calibrator_names(comparisons), strict=True)
    ]
    return json.dumps(without_nan(outcomes), indent=2, allow_nan=False)
