"""--metrics: what a command found, for Prometheus."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auxcal._core.files import check_writable
from auxcal.cli._files import refuse_overwrite

if TYPE_CHECKING:
    from auxcal.monitoring import Metrics

MetricsFile = Annotated[
    Path | None,
    typer.Option(
        "--metrics",
        metavar="FILE.prom",
        help="Also write the numbers for Prometheus, as the textfile collector of node_exporter reads them; a file "
        "that auxcal wrote before is replaced.",
    ),
]


def check_metrics(path: Path | None) -> None:
    """Raise an error, before the work starts, if metrics can't be written there."""
    if path is None:
        return
    if path.suffix != ".prom":
        raise typer.BadParameter(f"--metrics writes a .prom file, which the collector reads; got {path.name!r}.")
    refuse_overwrite(path, overwrite=False)
    check_writable(path)


def metrics_of(command: str, calibrator: Path) -> Metrics:
    """Return metrics that tell one command and calibrator from another: two files must not give the same number."""
    from auxcal.monitoring import Metrics

    return Metrics(command=command, calibrator=calibrator.stem)


def save_metrics(metrics: Metrics, path: Path | None) -> None:
    """Write metrics, if they are asked for."""
    if path is not None:
        metrics.save(path, time=time.time())
