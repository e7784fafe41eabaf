"""A comparison and a timeline for the terminal: their tables, and a timeline in words, which its page has too."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from auxcal._core.text import percent
from auxcal.monitoring import Chunk, Estimate, Timeline
from auxcal.report.comparison import Comparison

VERDICTS = {"same": "the same", "mix": "another mix", "new": "something new", "few": "too few rows"}
"""What the terminal and the page call the verdicts."""

STYLES = {"same": "green", "mix": "yellow", "new": "red", "few": "dim"}

_FOUND = {
    "same": "The rows of {} show no difference from those of the fit.",
    "mix": "In the rows of {}, class proportions have changed since the fit.",
    "new": "Changed class proportions can't explain the rows of {}.",
    "few": "The rows of {} are too few to tell.",
}
_AFTER_ADAPTING = {
    "same": "The rows of {} show no difference from those that the calibrator was adapted to.",
    "mix": "In the rows of {}, class proportions have changed since the calibrator was adapted.",
}
_AMONG_GROUPS = {
    "same": "The rows of {} differ from those of the fit by no more than its {:,} groups differ from each other.",
    "mix": "The rows of {} are another mix than those of the {:,} groups of the fit.",
    "new": "The rows of {} differ from the {:,} groups of the fit by more than these differ from each other.",
}
_NEXT = {
    "same": "Nothing to do without labels, which alone tell whether they still mean the same.",
    "mix": "Adapt the calibrator to these rows; this needs no labels.",
    "new": "The confidence may be off here. Label some of these rows, and fit again if it is.",
    "few": "Wait for more rows.",
}


def comparison_to_rich(comparison: Comparison) -> Table:
    """Return the table of a comparison, which fits into 80 columns, best first and in bold."""
    shown = _table(comparison.heads)
    for entry in comparison.ranked:
        name = Text(entry.label, no_wrap=True)
        best = "  ours" if comparison.signals else "  best"  # scikit-learn's methods may rank above
        name.append(best if entry is comparison.best else "", style="not bold blue")
        itself = entry is comparison.before and not comparison.signals
        name.append("  the classifier itself" if itself else "", style="not bold dim")
        shown.add_row(name, *comparison.cells(entry), style="bold" if entry is comparison.best else "")
    return shown


def signals_to_rich(comparison: Comparison) -> Table:
    """Return how much each signal counts, and over which range the confidence goes with it."""
    shown = _table(["counts, ‰", "confidence from", "to"])
    for signal in comparison.signals:
        confidence = [part.confidence for part in signal.bins]
        counts = f"{1000 * signal.counts:.1f} ± {1000 * signal.error:.1f}"
        shown.add_row(Text(signal.name, no_wrap=True), counts, percent(min(confidence)), percent(max(confidence)))
    return shown


def timeline_to_rich(timeline: Timeline, most: int | None = None) -> Table:
    """Return a row for each chunk, or for the latest ones, which fits into 80 columns where names are short."""
    shown = _table(["rows", "right, estimated", "measured", "OOD"])
    shown.add_column("verdict", no_wrap=True)
    for chunk in timeline.chunks[-most:] if most else timeline.chunks:
        verdict = Text(VERDICTS[chunk.verdict], style=STYLES[chunk.verdict])
        verdict.append("  alarm" if chunk.alarms else "", style="bold red")
        shown.add_row(Text(chunk.name), *chunk_cells(chunk), verdict)
    return shown


def chunk_cells(chunk: Chunk) -> tuple[str, str, str, str]:
    """Return the numbers of a chunk as text."""
    check = chunk.check
    return (
        f"{chunk.n_rows:,}",
        "–" if check is None or check.accuracy is None else _interval(check.accuracy),
        "–" if chunk.measured is None else percent(chunk.measured.value),
        "–" if check is None or check.no_class is None else percent(check.no_class.value),
    )


def _interval(estimate: Estimate) -> str:
    return f"{percent(estimate.value)} ± {50 * (estimate.high - estimate.low):.1f}"


def _table(heads: Sequence[str]) -> Table:
    """Return an empty table: a column of names, and columns of numbers."""
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    shown.add_column("")
    for head in heads:
        shown.add_column(head, justify="right", no_wrap=True)
    return shown


def slices_to_rich(timeline: Timeline) -> Table:
    """Return a row for each slice of a table, by the harm that is expected there: those to label first."""
    shown = _table(["rows", "right, expected", "off by", "at most"])
    shown.add_column("verdict", no_wrap=True)
    for chunk in timeline.ranked:
        rows, accuracy, *_ = chunk_cells(chunk)
        harm = ("–", "–") if chunk.check is None else (f"{100 * points:.1f}" for points in chunk.check.harm[::2])
        verdict = Text(VERDICTS[chunk.verdict], style=STYLES[chunk.verdict])
        shown.add_row(Text(chunk.name), rows, accuracy, *harm, verdict)
    return shown


def to_label(timeline: Timeline) -> list[str]:
    """Return which chunks to label first, if there are several."""
    chunks = [(chunk.name, chunk.check.harm) for chunk in timeline.ranked if chunk.check is not None]
    if len(chunks) < 2:
        return []
    words = [f"{name} (by {100 * harm.value:.1f} points, {100 * harm.high:.1f} at most)" for name, harm in chunks[:3]]
    return [f"Label first where the confidence may be off most: {', '.join(words)}."]


def found(timeline: Timeline) -> str:
    """Return the verdict of the last chunk."""
    last = timeline.chunks[-1]
    if last.check is not None and last.check.n_groups:
        return _AMONG_GROUPS[last.verdict].format(last.name, last.check.n_groups)
    adapted = last.check is not None and last.check.adapted
    return (_FOUND | _AFTER_ADAPTING if adapted else _FOUND)[last.verdict].format(last.name)


def alarms(timeline: Timeline) -> list[str]:
    """Return each alarm with its chunk, or that there is none."""
    raised = [f"Alarm in {name}: {str(alarm)[0].lower()}{str(alarm)[1:]}" for name, alarm in timeline.alarms]
    return raised or ["No alarm over all rows so far."]


def unlike_check(timeline: Timeline) -> list[str]:
    """Return why `auxcal check` of the last chunk differs, if it does."""
    last, sentences = timeline.chunks[-1], []
    alone = None if last.check is None else last.check.verdict_at(timeline.level)
    if last.check is not None and alone != last.verdict:
        sentences.append(
            f"auxcal check of {last.name} alone says {VERDICTS[alone or 'few']}, at its level of {timeline.level:g}; "
            f"here all chunks share the level, and {last.check.level:.2g} of it is for this one."
        )
    if alone == "same" and timeline.alarms and not last.alarms:
        sentences.append(f"The alarm is about all rows so far; auxcal check of {last.name} alone finds no difference.")
    return sentences


def then(timeline: Timeline) -> str:
    """Return what to do."""
    verdict = timeline.chunks[-1].verdict
    if verdict in ("same", "few") and any(alarm.kind == "labels" for _, alarm in timeline.alarms):
        return "The labels say that the confidence is off. Fit again with them."
    return _NEXT[verdict]
