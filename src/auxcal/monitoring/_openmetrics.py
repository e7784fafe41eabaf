"""Results as text that Prometheus reads: the metrics file of `check`, `monitor` and `score`.

All metrics are gauges. So the text is the same in OpenMetrics and in the older format of Prometheus, which the textfile
collector of node_exporter reads.
"""

from __future__ import annotations

import math
import os
from typing import Self

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
    "evidence_ratio": "Evidence of a monitor as odds: that rows (data) or labels show the calibrator to be off.",
    "evidence_alarm_ratio": "Evidence that raises an alarm.",
    "alarm": "1 where a monitor has raised an alarm of this kind.",
    "seen_rows": "Rows that a monitor has seen in all runs.",
    "seen_labels": "Labels that a monitor has seen in all runs.",
    "last_run_timestamp_seconds": "When the last run ended, in seconds since 1970.",
}
"""The names, without the prefix `auxcal_`, and what each is."""


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
        self._samples: dict[str, list[tuple[dict[str, str], float]]] = {family: [] for family in FAMILIES}

    def add(self, family: str, value: float | None, **labels: str) -> Self:
        """Add a number, if it is known."""
        if value is not None and not math.isnan(value):
            self._samples[family].append((self._labels | labels, value))
        return self

    def estimate(self, what: str, estimate: Estimate | None, **labels: str) -> Self:
        """Add a share with its interval."""
        if estimate is not None:
            for end, value in zip(("", "_low", "_high"), estimate, strict=True):
                self.add(f"{what}{end}_ratio", value, **labels)
        return self

    def verdict(self, verdict: str, **labels: str) -> Self:
        """Add a verdict, as one number for each that it could be."""
        for name in VERDICTS:
            self.add("verdict", name == verdict, verdict=name, **labels)
        return self

    def check(self, check: Check | None, **labels: str) -> Self:
        """Add what a check estimates, and its p-values."""
        if check is None:
            return self
        self.estimate("estimated_accuracy", check.accuracy, **labels).estimate("ood", check.no_class, **labels)
        self.add("p_value_ratio", check.p_mix, test="mix", **labels)
        return self.add("p_value_ratio", check.p_new, test="new", **labels)

    def chunk(self, chunk: Chunk, n_rows: int | None = None, **labels: str) -> Self:
        """Add the numbers of a chunk by itself; `n_rows` are those of the run, where it is not of this chunk alone."""
        self.add("rows", chunk.n_rows if n_rows is None else n_rows, **labels)
        self.add("mean_confidence_ratio", chunk.confidence, **labels).check(chunk.check, **labels)
        return self.estimate("measured_accuracy", chunk.measured, **labels).verdict(chunk.verdict, **labels)

    def monitored(self, evidence: Evidence, alarms: tuple[Alarm, ...], level: float) -> Self:
        """Add what a monitor knows of all rows."""
        kinds = {alarm.kind for alarm in alarms}
        for kind, value in (("data", evidence.data), ("labels", evidence.labels)):
            self.add("evidence_ratio", value, kind=kind).add("alarm", kind in kinds, kind=kind)
        self.add("seen_rows", evidence.n_rows).add("seen_labels", evidence.n_labels)
        return self.add("evidence_alarm_ratio", 1 / level)

    def text(self, *, time: float) -> str:
        """Return all of it as text; `time` is when the run ended, in seconds since 1970."""
        lines = []
        for family, samples in (self._samples | {"last_run_timestamp_seconds": [(self._labels, time)]}).items():
            if samples:
                lines += [f"# HELP auxcal_{family} {FAMILIES[family]}", f"# TYPE auxcal_{family} gauge"]
            for labels, value in samples:
                named = ",".join(f'{name}="{_escaped(label)}"' for name, label in labels.items())
                lines.append(f"auxcal_{family}{{{named}}} {value:.17g}")
        return "\n".join([*lines, "# EOF", ""])

    def save(self, path: str | os.PathLike[str], *, time: float) -> None:
        """Write the text to a file, whole or not at all."""
        with atomic_write(as_path(path)) as temporary:
            temporary.write_bytes(utf8(self.text(time=time)))


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
