"""The tables of docs/evidence/monitoring.md, from the rows that benchmarks.monitoring measured."""

from collections import defaultdict
from pathlib import Path

import numpy as np
from benchmarks.monitoring.peers import NEVER
from benchmarks.results import write_table

Found = dict[tuple[str, str], dict[str, list[int]]]
"""After how many rows alarms came, by bundle and case, and by whose they are."""


def grouped(rows: list[dict[str, str]], question: str) -> Found:
    """Return after how many rows the alarms of a question came, by bundle and case, and by whose they are."""
    found: Found = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["question"] == question:
            found[f"{row['suite']}, {row['shift']}", row["case"]][row["who"]].append(int(row["after"]))
    return found


def raised(after: list[int]) -> str:
    """Return in how many streams there was an alarm."""
    return f"{sum(each >= 0 for each in after)} of {len(after)}" if after else "–"


def write_tables(rows: list[dict[str, str]], folder: Path) -> None:
    """Write all of them."""
    _write_quiet(grouped(rows, "quiet") | grouped(rows, "long"), folder / "monitoring-quiet.csv")
    _write_jump(grouped(rows, "jump") | grouped(rows, "adapted"), folder / "monitoring-jump.csv")
    _write_labels(grouped(rows, "labels"), folder / "monitoring-labels.csv")


def _and_all(found: Found) -> list[tuple[tuple[str, str], dict[str, list[int]]]]:
    """Return what was found, and for each case that of all bundles together."""
    together: Found = defaultdict(lambda: defaultdict(list))
    for (_, case), who in found.items():
        for name, after in who.items():
            together["all", case][name] += after
    return [*found.items(), *together.items()]


def _write_quiet(found: Found, path: Path) -> None:
    heads = {
        "data": "rows differ",
        "labels": "confidence is off",
        "batches": "KS test of every 200 rows",
        "adwin": "ADWIN, confidence",
        "adwin, labels": "ADWIN, mistakes",
    }
    table = [[f"{where}, {case}", *(raised(who[name]) for name in heads)] for (where, case), who in _and_all(found)]
    write_table(path, ["", *heads.values()], table)


def _write_jump(found: Found, path: Path) -> None:
    head = ["", "monitor, median", "90 % within", "too early", "KS test of every 200 rows, median", "too early"]
    table = [
        [
            f"{where}, {case}",
            *noticed(who["data"]),
            *np.take(noticed(who["batches"]), [0, 2]),
            *np.take(noticed(who["adwin"]), [0, 2]),
        ]
        for (where, case), who in found.items()
    ]
    write_table(path, [*head, "ADWIN, median", "too early"], table)


def _write_labels(found: Found, path: Path) -> None:
    found = dict(_and_all(found))
    cases = list(dict.fromkeys(case for _, case in found))
    wheres = dict.fromkeys(where for where, _ in found)
    table = [[where, *(shares(found.get((where, case), defaultdict(list))) for case in cases)] for where in wheres]
    write_table(path, ["", *cases], table)


def noticed(after: list[int]) -> list[str]:
    """Return the median and the 90 % quantile of the rows until the alarm, and how many alarms came too early."""
    if not after:
        return ["–"] * 3
    waited = np.array([np.inf if each == NEVER else each for each in after if each != 0])
    early = f"{sum(each == 0 for each in after)} of {len(after)}"
    if not len(waited):
        return ["–", "–", early]
    ends = np.quantile(waited, [0.5, 0.9], method="higher")
    return [*("never" if np.isinf(each) else f"{each:.0f}" for each in ends), early]


def shares(who: dict[str, list[int]]) -> str:
    """Return in what share of the streams 300 labels were enough, for one who knows, and for ADWIN."""
    found = [[each > 0 for each in who[name]] for name in ("labels", "who knows", "adwin") if who[name]]
    return " / ".join(f"{100 * np.mean(each):.0f} %" for each in found) or "–"
