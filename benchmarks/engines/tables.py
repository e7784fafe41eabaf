"""The tables of docs/how-to/large-tables.md."""

import csv
from pathlib import Path

from benchmarks.engines.measure import N_FILES, SMALL
from benchmarks.engines.ways import COMMAND, ENGINES, PLAIN

FIGURES = Path(__file__).parents[2] / "docs/figures"
ON_DEATH = {
    PLAIN: "not tested",
    COMMAND: "the run stops; started again, it resumes",
    "polars": "no workers, one process",
    "DuckDB": "no workers, one process",
    "Daft": "no workers, one process",
    "Dask": "not tested; files so far are visible",
    "Spark, score": "the engine retries the task",
    "Spark, udf": "the engine retries the task",
    "Ray Data": "the engine retries the task",
}


def as_rows(found: dict[str, dict[str, float]], rows: int) -> list[list[str]]:
    """Return the table of the page."""
    files = rows // N_FILES * SMALL, rows // N_FILES * N_FILES
    plain = found[PLAIN]["large"]
    head = ["engine", "CPU time a row", "of the plain loop", "a further row", "start", "memory", "when a worker dies"]
    table = [head]
    for name, cost in found.items():
        further = (cost["large"] - cost["small"]) / (files[1] - files[0])
        table.append(
            [
                name,
                f"{cost['large'] / files[1] * 1e6:.2f} µs",
                f"{cost['large'] / plain:.2f}",
                f"{further * 1e6:.2f} µs",
                f"{cost['start']:.0f} s",
                f"{cost['memory'] / 1e6:,.0f} MB",
                ON_DEATH[name],
            ]
        )
    return table


def billion(found: dict[str, dict[str, float]], rows: int) -> list[list[str]]:
    """Return what a billion further rows take on one core, and on ten machines of eight cores each."""
    table = [["engine", "on one core", "on ten machines of eight cores"]]
    for name, cost in found.items():
        further = (cost["large"] - cost["small"]) / (rows // N_FILES * (N_FILES - SMALL)) * 1e9
        table.append([name, f"{further / 60:.0f} minutes", f"{further / 80:.0f} s"])
    return table


def write_tables(found: dict[str, dict[str, float]], rows: int) -> None:
    """Write what is measured so far."""
    known = {name: found[name] for name in ENGINES if name in found}
    for name, table in {"engines": as_rows(known, rows), "engines-billion": billion(known, rows)}.items():
        with (FIGURES / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(table)
