"""What was found, as text that Prometheus reads: the metrics file of `check`, `monitor` and `score`.

All metrics are gauges. So the text is the same in OpenMetrics and in the older format of Prometheus, which the textfile
collector of node_exporter reads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

from auxcal._core.files import as_path, atomic_write
from auxcal._core.text import utf8
from auxcal.metrics.intervals import Estimate
from auxcal.monitoring._check import Check
from auxcal.monitoring._state import Alarm, Evidence
from auxcal.monitoring._timeline import Chunk

VERDICTS = ("same", "mix", "new", "few")
"""All that a verdict can be; "few" where there are too few rows for one."""

FAMILIES = {
    "rows": "Rows of the last run.",
    "bad_rows": "Rows of the last run that could not be scored.",
    "mean_confidence_ratio": "Mean confidence of the rows.",
    "estimated_accuracy_ratio": "Estimated share of right predictions, without labels.",
    "estimated_accuracy_low_ratio": "Lower end of its 90 % interval.",
    "estimated_accuracy_high_ratio": "Upper end of its 90 % interval.",
    "measured_accuracy_ratio": "Share of right predictions among the rows with labels.",
    "measured_accuracy_low_ratio": "Lower end of its 90 % interval.",
    "measured_accuracy_high_ratio": "Upper end of its 90 % interval.",
    "ood_ratio": "Estimated share of rows of none of the classes.",
    "ood_low_ratio": "Lower end of its 90 % interval.",
    "ood_high_ratio": "Upper end of its 90 % interval.",
    "verdict": "1 for the verdict on the rows, 0 for the others.",
    "p_value_ratio": "P-values behind the verdict: of the same mix as in the fit, and of any mix of it.",
    "evidence_ratio": "Evidence of a monitor as odds: that rows (data) or labels say the calibrator is off.",
    "evidence_alarm_ratio": "Evidence that raises an alarm.",
    "alarm": "1 where a monitor has raised an alarm of this kind.",
    "seen_rows": "Rows that a monitor has seen in all runs.",
    "seen_labels": "Labels that a monitor has seen in all runs.",
    "last_run_timestamp_seconds": "When the last run ended, in seconds since 1970.",
}
"""The names, without the prefix `auxcal_`, and what each is."""


class Sample(NamedTuple):
    """One number of a family, with its labels."""

    family: str
    value: float
    labels: Mapping[str, str] = {}


class Metrics:
    """Numbers for Prometheus; what is not known is left out.

    Parameters
    ----------
    **labels : str
        The labels of all of them, such as the command and the calibrator.

    Examples
    --------
    >>> from auxcal.monitoring import Metrics
    >>> print(Metrics(command="score").add("rows", 1200).verdict("same").text(time=0).rstrip())
    # HELP auxcal_rows Rows of the last run.
    # TYPE auxcal_rows gauge
    auxcal_rows{command="score"} 1200
    # HELP auxcal_verdict 1 for the verdict on the rows, 0 for the others.
    # TYPE auxcal_verdict gauge
    auxcal_verdict{command="score",verdict="same"} 1
    auxcal_verdict{command="score",verdict="mix"} 0
    auxcal_verdict{command="score",verdict="new"} 0
    auxcal_verdict{command="score",verdict="few"} 0
    # HELP auxcal_last_run_timestamp_seconds When the last run ended, in seconds since 1970.
    # TYPE auxcal_last_run_timestamp_seconds gauge
    auxcal_last_run_timestamp_seconds{command="score"} 0
    # EOF
    """

    def __init__(self, **labels: str) -> None:
        self._labels = labels
        self._samples: list[Sample] = []

    def add(self, family: str, value: float | None, **labels: str) -> Self:
        """Add a number, if it is known."""
        if value is not None and not math.isnan(value):
            self._samples.append(Sample(family, value, self._labels | labels))
        return self

    def estimate(self, what: str, found: Estimate | None, **labels: str) -> Self:
        """Add a share with its interval."""
        for end, value in () if found is None else zip(("", "_low", "_high"), found, strict=True):
            self.add(f"{what}{end}_ratio", value, **labels)
        return self

    def verdict(self, verdict: str, **labels: str) -> Self:
        """Add a verdict, as one number for each that it could be."""
        for each in VERDICTS:
            self.add("verdict", each == verdict, verdict=each, **labels)
        return self

    def check(self, found: Check | None, **labels: str) -> Self:
        """Add what a check estimates, and its p-values."""
        if found is None:
            return self
        self.estimate("estimated_accuracy", found.accuracy, **labels).estimate("ood", found.no_class, **labels)
        return self.add("p_value_ratio", found.p_mix, test="mix", **labels).add(
            "p_value_ratio", found.p_new, test="new", **labels
        )

    def chunk(self, found: Chunk, n_rows: int | None = None, **labels: str) -> Self:
        """Add the numbers of a chunk by itself; `n_rows` are those of the run, where it is not of this chunk alone."""
        self.add("rows", found.n_rows if n_rows is None else n_rows, **labels).add(
            "mean_confidence_ratio", found.confidence, **labels
        )
        self.check(found.check, **labels).estimate("measured_accuracy", found.measured, **labels)
        return self.verdict(found.verdict, **labels)

    def monitored(self, evidence: Evidence, alarms: tuple[Alarm, ...], level: float) -> Self:
        """Add what a monitor has found over all rows."""
        kinds = {alarm.kind for alarm in alarms}
        for kind, value in (("data", evidence.data), ("labels", evidence.labels)):
            self.add("evidence_ratio", value, kind=kind).add("alarm", kind in kinds, kind=kind)
        self.add("seen_rows", evidence.n_rows).add("seen_labels", evidence.n_labels)
        return self.add("evidence_alarm_ratio", 1 / level)

    def text(self, *, time: float) -> str:
        """Return all of it as text; `time` is when the run ended, in seconds since 1970."""
        samples = [*self._samples, Sample("last_run_timestamp_seconds", time, self._labels)]
        return "\n".join([*_lines(samples), "# EOF", ""])

    def save(self, path: str | os.PathLike[str], *, time: float) -> None:
        """Write the text to a file, whole or not at all."""
        target: Path = as_path(path)
        with atomic_write(target) as temporary:
            temporary.write_bytes(utf8(self.text(time=time)))


def _lines(samples: list[Sample]) -> Iterator[str]:
    for family, about in FAMILIES.items():
        found = [sample for sample in samples if sample.family == family]
        if found:
            yield f"# HELP auxcal_{family} {about}"
            yield f"# TYPE auxcal_{family} gauge"
        for sample in found:
            labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
            yield f"auxcal_{family}{{{labels}}} {sample.value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
