"""A folder with what a comparison found: the page, the numbers as CSV and JSON, and the best calibrators."""

from __future__ import annotations

import csv
import json
import math
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from auxcal._errors import AuxcalWarning, InvalidInputError, MissingExtraError
from auxcal._files import written_whole
from auxcal.comparison import Comparison

PAGE = "report.html"


def make_folder(out: Path) -> None:
    """Create the folder before anything is computed for it, or say why that is impossible."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(
            f"the folder {str(out)!r} can't be made ({error.strerror}). Choose another one."
        ) from error


def write_folder(comparisons: Sequence[Comparison], out: Path) -> list[Path]:
    """Write the page, `results.csv`, `results.json` and the best calibrator of each comparison, each of them whole.

    Returns
    -------
    list of Path
        What was written, the page first; without the extra `report` there is no page, and a warning says so.
    """
    make_folder(out)
    names = calibrator_names(comparisons)
    for comparison, name in zip(comparisons, names, strict=True):
        calibrator, _ = comparison.best.measured()
        calibrator.save(out / name)
    with written_whole(out / "results.csv") as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        rows = [row for comparison in comparisons for row in comparison.table]
        writer = csv.DictWriter(file, fieldnames=list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
    with written_whole(out / "results.json") as temporary:
        temporary.write_text(comparisons_as_json(comparisons) + "\n", encoding="utf-8")
    page = write_page(comparisons, out, saved=names)
    return [*page, *(out / name for name in ("results.csv", "results.json", *names))]


def write_page(comparisons: Sequence[Comparison], out: Path, **options: Any) -> list[Path]:
    """Write only the page, and return it; without the extra `report` there is none, and a warning says so."""
    try:
        from auxcal.reports.html import save_report
    except MissingExtraError as error:
        warnings.warn(f"{PAGE} is left out: {error}", AuxcalWarning, stacklevel=2)
        return []
    save_report(comparisons, out / PAGE, **options)
    return [out / PAGE]


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
    found = [
        {
            "data": comparison.name,
            "answer": str(comparison.answer),
            "verdict": comparison.answer.verdict,
            "best": comparison.best.method,
            "calibrator": name,
            "n_fit": comparison.n_fit,
            "n_test": len(comparison.test),
            "accuracy": comparison.answer.right,
            "mean_confidence": comparison.answer.says,
            "methods": [{key: _finite(value) for key, value in row.items()} for row in comparison.table],
        }
        for comparison, name in zip(comparisons, calibrator_names(comparisons), strict=True)
    ]
    return json.dumps(found, indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
