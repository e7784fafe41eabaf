"""docs/evidence/performance.md: every number of the benchmarks, from docs/figures/performance.json."""

from __future__ import annotations

import csv
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.speed.libraries import OURS, PEERS, ROOT, THREADS, left_out, versions
from benchmarks.speed.tables import mark, megabytes, seconds, table, times

PAGE, DATA = ROOT / "docs/evidence/performance.md", ROOT / "docs" / "figures" / "performance.json"
FIGURE = ROOT / "docs" / "figures" / "growth.png"
WALKS = ROOT / "docs" / "figures" / "walks.csv"
LIMITS = WALKS.with_name("walks-limits.csv")

TableRows = list[dict[str, Any]]


def read() -> dict[str, Any]:
    """Return the results that are there."""
    return json.loads(DATA.read_text()) if DATA.exists() else {}


def write(results: dict[str, Any]) -> None:
    """Write the results, the figure and the page."""
    DATA.write_text(json.dumps(results, indent=1) + "\n")
    if "growth" in results:
        from benchmarks.speed.growth import draw

        draw(results["growth"]["rows"]).savefig(FIGURE)
    PAGE.write_text(text(results))


def text(results: dict[str, Any]) -> str:
    """Return the page."""
    sections = (section(results[topic]["rows"]) for topic, section in SECTIONS.items() if topic in results)
    return "\n\n".join([INTRODUCTION, *sections, walks(), environment(results)]) + "\n"


def circumstances(load: float, taken: float) -> dict[str, Any]:
    """Return where and when something was measured."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()) if sys.platform == "linux" else None
    return {
        "date": date.today().isoformat(),
        "cpu": model[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "threads": THREADS,
        "load": round(load, 1),
        "minutes": round(taken / 60, 1),
        "python": platform.python_version(),
        "versions": versions(),
        "left_out": left_out(),
    }


INTRODUCTION = """\
# Performance

How fast auxcal is, compared with other libraries on the same arrays and with the minimum that the machine needs.
`make bench` measures everything and writes this page; the numbers are in
[`performance.json`](../figures/performance.json). The ratios matter; the seconds are those of one machine.

Every comparison first checks that both give the same answer: our loss on the rows of the fit is at most the peer's, and
metrics have the same value. Times are the best of several interleaved runs."""


def verdicts(results: dict[str, Any]) -> str:
    """Return how many targets are met, and those that are missed."""
    judged = [(topic, row) for topic, part in results.items() for row in part["rows"] if row.get("verdict")]
    bad = [(topic, row) for topic, row in judged if row["verdict"] != "met"]
    lines = [f"{len(judged) - len(bad)} of {len(judged)} targets are met."]
    for topic, row in bad:
        what = ", ".join(str(row[key]) for key in ("case", "method", "metric", "command", "n", "k") if key in row)
        ratio = f" ({times(row['ratio'])})" if row.get("ratio") else ""
        lines.append(f"  {topic}: {what}{ratio}: {row['verdict']}")
    return "\n".join(lines)


def name_of(contender: str) -> str:
    """Return the name of a library."""
    file, _, way = contender.partition(", ")
    name = "auxcal" if file == OURS else PEERS[file]
    return f"{name}, {way}" if way else name


def columns(rows: TableRows, cells: dict[str, Callable[[dict[str, Any]], object]]) -> str:
    """Return a table with a column for each function of a row."""
    return table(list(cells), [[cell(row) for cell in cells.values()] for row in rows])


def size(row: dict[str, Any]) -> str:
    """Write a number of rows and of classes."""
    return f"{row['n']:,} × {row['k']}"


def verdict(row: dict[str, Any]) -> str:
    """Write a verdict."""
    return mark(row["verdict"])


def details(title: str, text: str) -> str:
    """Return a text that opens with a click, here and on GitHub."""
    return f"<details markdown>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def fits(rows: TableRows) -> str:
    """Write how long fits take, and below it every contender."""
    short = columns(
        rows,
        {
            "method": lambda row: row["method"],
            "n × K": size,
            "auxcal": lambda row: seconds(row["contenders"][OURS].get("wall")),
            "fastest peer": lambda row: name_of(row["peer"]) if row["peer"] else "none",
            "its time": lambda row: seconds(row["contenders"][row["peer"]]["wall"] if row["peer"] else None),
            "ratio": lambda row: times(row["ratio"]),
            "of CPU time": lambda row: times(row.get("cpu_ratio")),
            "target": lambda row: times(row["target"]),
            "": verdict,
        },
    )
    everyone = table(("method", "n × K", "library", "time", "CPU time", "memory", "loss"), contenders(rows))
    return (
        "## Fits\n\nReal logits for 10 classes (a ResNet-20 on CIFAR-10 D1), simulated ones for 100 and 1000, whose"
        " true classes follow a distorted softmax. Histogram, isotonic, beta and scaling-binning fit one map per"
        " class, as the peers do. Dirichlet has one setting of its penalties. The ratio is the peer's wall time"
        " over ours. A peer that takes too long is stopped, and one far from the optimum does not count.\n\n"
        f"{short}\n\n"
    ) + details(
        "Every library",
        f"{everyone}\n\n*memory*: the peak during the fit, minus that before it. *loss*: on the rows of the fit; for"
        " maps of one score, the Brier score of the confidence.",
    )


def contenders(rows: TableRows) -> Iterator[tuple[str, ...]]:
    """Give a line for every library."""
    for row in rows:
        for name, result in row["contenders"].items():
            where = row["method"], size(row), name_of(name)
            if "failure" in result:
                yield *where, result["failure"].replace("|", "/"), "", "", ""
            else:
                taken = seconds(result["wall"]), seconds(result["cpu"]), megabytes(result["memory"])
                yield *where, *taken, f"{result['loss']:.4f}"


def networks(rows: TableRows) -> str:
    """Write what training takes beside the paper's recipe."""
    return (
        "## CCAC, CCAC-S and CCAC-T\n\nThe whole grid of λ with its selection, on CIFAR-10 D1. The paper's recipe"
        " trains one network per setting, with Adam in batches of 32: a plain torch loop was timed for"
        f" {rows[0]['epochs']} epochs and extrapolated.\n\n"
    ) + columns(
        rows,
        {
            "method": lambda row: row["method"],
            "rows": lambda row: f"{row['n']:,}",
            "settings": lambda row: row["settings"],
            "auxcal, CPU time": lambda row: seconds(row["ours"]["cpu"]),
            "the paper's recipe": lambda row: seconds(row.get("paper_cpu")),
            "ratio": lambda row: times(row.get("ratio")),
            "target": lambda row: "100×" if row.get("paper_cpu") else "1 s",
            "": verdict,
        },
    )


def scoring(rows: TableRows) -> str:
    """Write what scoring takes beside the bare products."""
    return (
        "## Scoring\n\n`predict_confidence` of float32 logits, compared with the bare matrix products with the fitted"
        " weights and one softmax in NumPy; the target is at most 2× and 100 MB. Both process the rows in chunks that"
        " stay in cache, on one thread.\n\n"
    ) + columns(
        rows,
        {
            "method": lambda row: row["method"],
            "n × K": size,
            "auxcal": lambda row: seconds(row["ours"]["wall"]),
            "bare": lambda row: seconds(row["bare"]["wall"]),
            "ratio": lambda row: times(row["ratio"]),
            "memory beyond input and output": lambda row: megabytes(row["memory"]),
            "": verdict,
        },
    )


def default(rows: TableRows) -> str:
    """Write what CCAC-X takes beside CCAC."""

    def fit(row: dict[str, Any], kind: str) -> str:
        return seconds(row["fit"][kind]["cpu"]) + (" (CCAC-S)" if kind == "ccac-s" else "")

    def million(row: dict[str, Any], kind: str) -> str:
        return seconds(1e6 * row["score"][kind]["cpu"] / row["rows_to_score"])

    return (
        "## The default beside CCAC\n\nCPU time of CCAC-X, fit and scoring, compared with CCAC with its whole grid"
        " (with 1000 classes CCAC-S, as in the paper). The target is at most 2× for both.\n\n"
    ) + columns(
        rows,
        {
            "logits": lambda row: row["case"],
            "K": lambda row: row["k"],
            "fit": lambda row: fit(row, "ccac-x"),
            "CCAC's": lambda row: fit(row, row["fit_beside"]),
            "ratio": lambda row: times(row["fit_ratio"]),
            "a million rows": lambda row: million(row, "ccac-x"),
            "CCAC's, a million": lambda row: million(row, "ccac"),
            "CCAC-S's": lambda row: million(row, "ccac-s"),
            "ratio to CCAC": lambda row: times(row["ratio"]),
            "": verdict,
        },
    )


def metrics(rows: TableRows) -> str:
    """Write what the metrics take."""
    short = columns(
        rows,
        {
            "metric": lambda row: row["metric"],
            "rows": lambda row: f"{row['n']:,}",
            "auxcal": lambda row: seconds(row["ours"]["wall"]),
            "compared with": lambda row: row["other"],
            "its time": lambda row: seconds(row["others"][row["other"]]["wall"]),
            "ratio": lambda row: times(row["ratio"]),
            "target": lambda row: row["target"] or "",
            "memory": lambda row: megabytes(row["ours"]["memory"]),
            "": verdict,
        },
    )
    peers = [
        (row["metric"], peer, seconds(taken["wall"]), f"{taken['value']:.6f}")
        for row in rows
        for peer, taken in row["others"].items()
        if "value" in taken
    ]
    return (
        "## Metrics\n\nOn float32 confidences. Here the ratio is our time over the other's: lower is better.\n\n"
        f"{short}\n\n"
    ) + details("Every library, and its value", table(("metric", "library", "time", "value"), peers))


def growth(rows: TableRows) -> str:
    """Write how times grow."""
    from benchmarks.speed.growth import cost_of_a_setting, exponent

    lines = []
    for name in dict.fromkeys(row["method"] for row in rows):
        cells = {what: [row for row in rows if row["method"] == name and row["what"] == what] for what in LABELS}
        powers = [f"{exponent(cells[what]):.2f}" if len(cells[what]) > 2 else "" for what in ("rows", "classes")]
        grid = cells["settings"]
        lines.append((name, *powers, f"{cost_of_a_setting(grid):.0%}".replace("%", " %") if grid else ""))
    return (
        "## Growth\n\n![Seconds of CPU time against rows, classes and settings](../figures/growth.png)\n\nThe exponent"
        " of the growth of a fit's time, over the upper half of each line (1 is linear), and the cost of one more"
        " setting of λ as a share of training one network alone.\n\n"
        + table(("method", "with n", "with K", "one more setting"), lines)
    )


LABELS = ("rows", "classes", "settings")


def startup(rows: TableRows) -> str:
    """Write how long starting takes."""
    return "## Start\n\n" + columns(
        rows,
        {
            "command": lambda row: f"`{row['command']}`",
            "time": lambda row: seconds(row["seconds"]),
            "target": lambda row: seconds(row["target"]),
            "": verdict,
        },
    )


def walks() -> str:
    """Write what the five walks take, as `benchmarks.walks` wrote it."""
    (head, *rows), (of_limits, *limits) = (csv.reader(path.read_text().splitlines()) for path in (WALKS, LIMITS))
    beside = f" It is compared with `{head[1].split(', ')[1]}`, an earlier commit." if len(of_limits) > 4 else ""
    return (
        "## The five walks\n\nWhat is done most, from the call to the answer, as `python -m benchmarks.walks --before"
        " TREE` measures it: CPU time and memory at the peak, once everything is imported, and how many functions and"
        f" files of auxcal the walk enters.{beside} Other work on the same cores makes times longer, so the ratio is"
        f" that of runs in turn.\n\n{table(head, rows)}\n\nScoring a CSV file of 20 MB beside"
        " reading and writing it with pyarrow plus `predict_confidence`; and what watching adds to scoring, that is the"
        f" difference to a calibrator that remembers nothing of its fit:\n\n{table(of_limits, limits)}"
    )


SECTIONS: dict[str, Callable[[TableRows], str]] = {
    "fits": fits,
    "networks": networks,
    "scoring": scoring,
    "default": default,
    "metrics": metrics,
    "growth": growth,
    "startup": startup,
}


def environment(results: dict[str, Any]) -> str:
    """Write where the numbers come from."""
    parts = {topic: results[topic]["circumstances"] for topic in SECTIONS if topic in results}
    latest = max(parts.values(), key=lambda part: part["date"])
    runs = table(
        ("topic", "date", "processor", "cores", "threads", "load at the start", "minutes"),
        [
            (topic, *(part[key] for key in ("date", "cpu", "cores", "threads", "load", "minutes")))
            for topic, part in parts.items()
        ],
    )
    used = ", ".join(f"{name} {' and '.join(found)}" for name, found in all_versions(parts.values()).items())
    nowhere = [name for name in latest["left_out"] if all(name in part["left_out"] for part in parts.values())]
    out = "\n".join(f"- {name}: {latest['left_out'][name]}." for name in nowhere)
    return (
        "## The machine\n\nAll libraries get the same number of threads; auxcal's fits use one. A load above 0 is other"
        f" work on the same cores, which slows libraries with several threads most.\n\n{runs}\n\nPython"
        f" {latest['python']}, {used}.\n\nLeft out:\n\n{out}"
    )


def all_versions(parts: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the versions of every library over all topics, which may have been measured at different times."""
    found: dict[str, list[str]] = {}
    for name, version in dict.fromkeys(item for part in parts for item in part["versions"].items()):
        found.setdefault(name, []).append(version)
    return found
