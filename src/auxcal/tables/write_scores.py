"""The prediction and the confidence of every row of a table: what `auxcal score` writes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from auxcal._core.arrays import Floats
from auxcal._core.errors import InputWarning, InvalidInputError
from auxcal._core.files import STANDARD, atomic_write, check_apart
from auxcal._core.progress import Report, RowReport, silent
from auxcal.calibrators import Calibrator
from auxcal.monitoring import ScoreWatch
from auxcal.tables.parts import File, LocalFile, Part, as_file, find_parts
from auxcal.tables.readers import FORMATS, open_source, writable
from auxcal.tables.scored_folder import Counts, Holds, Written, clear_accepted, score_folder
from auxcal.tables.scorer import ScoredBatch, Scorer, Watch
from auxcal.tables.spec import TableSpec


def score_table(
    calibrator: Calibrator,
    *paths: str | os.PathLike[str],
    out: str | os.PathLike[str],
    proba: bool = False,
    overwrite: bool = False,
    report: RowReport = lambda done, rows: None,
    watch: ScoreWatch | None = None,
    holds: Holds | None = None,
    spec: TableSpec | None = None,
    **where: Any,
) -> Written:
    r"""Write the prediction and the confidence of every row of a table next to its other columns, without the inputs.

    The columns, and whether they hold logits or probabilities, are those that the calibrator was fitted on. Their order
    in the file does not matter. If the calibrator knows the names of the classes, the prediction is a name, unless the
    true classes in the table are indices. Input columns named `prediction` or `confidence` are replaced;
    other columns of an earlier scoring (`accepted`, `in_fit`, `proba_` and a class) are left out, and an `InputWarning`
    names those that are not written again.

    CSV, parquet and `.npy` files are read, and CSV and parquet files written, in batches: memory does not grow with the
    rows. For parquet it grows with the columns, by some 3 MB each: keep hundreds of classes in one column of lists.

    Where `out` is a file, it has all rows, and is written whole or not at all. Where it is a folder, it gets a part for
    each part of the input, with the same name and the same order of rows, and at the end an empty file `_SUCCESS`. Each
    part appears when it is whole. A run that was stopped resumes where it was when it is started again, and parts that
    were added or changed since are scored then: `_auxcal.json` in the folder records what each part was made of.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.
    *paths : path
        The logits: whatever `read_predictions` takes; y may be missing.
    out : path
        The file to write, in the format of its extension; or a folder, with no extension; or the URL of either; `-` for
        CSV to standard output.
    label : str, optional
        The column of the true classes, if there is one.
    columns, probabilities, features
        As in `read_predictions`, where they are not what the calibrator was fitted on; features are only read if it was
        fitted with features.
    on_bad_rows : {"null", "skip", "fail"}
        What becomes of a row that is null, NaN, infinite, of another width, or not a distribution where probabilities
        are expected: it gets neither prediction nor confidence; it is left out; or it is an error. An `InputWarning`
        counts such rows. If all of the first rows are bad, that is an error anyway.
    proba : bool
        Write the calibrated probability of each class too, to columns such as `proba_cat`, or `proba_0` where the
        calibrator knows no names. `proba_no_class` or `proba_misclassified` follow where the method has these.
    overwrite : bool
        Score all parts again, also where the folder holds what another calibrator gave.
    report : callable
        Called every now and then with the share that is done, and the rows that were read for it.
    watch : ScoreWatch, optional
        Gets the good rows of every batch that is scored in this run.
    holds : callable, optional
        Asked after that, before the output is whole, if the calibrator has a certificate: whether its promise holds for
        these rows. If not, `accepted` is false for every row that was scored in this run. Standard output can't be
        taken back.
    spec : TableSpec, optional
        Where things are in the table, in one.

    Returns
    -------
    Written
        `rows`, `bad`, `parts`, `resumed` and `withdrawn`.

    Examples
    --------
    >>> import tempfile, warnings
    >>> from pathlib import Path
    >>> import auxcal
    >>> from auxcal.tables import score_table
    >>> fitted = auxcal.Uncalibrated().fit([[2.0, 0.0], [0.0, 1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     (folder / "logits").mkdir()
    ...     for part in "ab":
    ...         _ = (folder / "logits" / f"{part}.csv").write_text("logit_0,logit_1,y\n2,0,0\n0,,1\n")
    ...     with warnings.catch_warnings(action="ignore"):
    ...         written = score_table(fitted, folder / "logits", out=folder / "scored")
    ...     print(written.rows, written.bad, sorted(path.name for path in (folder / "scored").iterdir()))
    4 2 bad rows (2 NaN) ['_SUCCESS', '_auxcal.json', 'a.csv', 'b.csv']
    """
    calibrator = calibrator._now()
    spec = TableSpec.of(spec, where, on_bad_rows="null")
    spec.check_bad_rows("null", "skip", "fail")
    parts = find_parts(*paths)
    ending = parts[0].file.suffix if is_folder(out) else as_file(out).suffix
    scorer = Scorer(calibrator, spec, proba=proba, text=ending.lower() != ".safetensors")  # of numbers alone
    target, asked = as_file(out), None if calibrator.certificate_ is None else holds
    update = None if watch is None else watch.update
    if is_folder(out):
        written = score_folder(scorer, paths, parts, target, report, update, asked, overwrite=overwrite)
    else:
        written = _to_file(scorer, paths, parts, target, report, update, asked)
    if written.bad.total:
        fate = "are left out" if spec.on_bad_rows == "skip" else "have no score"
        warnings.warn(f"of {written.rows:,} rows, {written.bad} {fate}.", InputWarning, stacklevel=2)
    return written


def read_rows(
    calibrator: Calibrator,
    *paths: str | os.PathLike[str],
    spec: TableSpec | None = None,
    report: Report = silent,
    **where: Any,
) -> Iterator[tuple[Floats, Floats | None]]:
    """Yield the logits and the features of a table in batches, as `score_table` reads them, of the good rows alone.

    A bad row is an error, or it is left out, and an `InputWarning` counts such rows at the end.
    """
    spec = TableSpec.of(spec, where)
    spec.check_bad_rows()
    scorer = Scorer(calibrator, spec)
    with open_source(*paths) as source:
        for batch, logits, further in scorer.rows(source):
            yield logits, further
            if batch.done is not None:
                report(batch.done)


def is_folder(out: str | os.PathLike[str]) -> bool:
    """Whether scores are to be written to a folder: one that is there, or a name without an extension."""
    file = as_file(out)
    if str(file) == STANDARD or file.suffix.lower() in FORMATS:
        return False
    return os.fspath(out).endswith("/") or not file.suffix or file.is_dir()


def _to_file(
    scorer: Scorer,
    paths: Sequence[str | os.PathLike[str]],
    parts: Sequence[Part],
    target: File,
    report: RowReport,
    watch: Watch | None,
    holds: Holds | None,
) -> Written:
    kind = writable(target)
    if isinstance(target, LocalFile):
        check_apart(target.path, (part.file.path for part in parts if isinstance(part.file, LocalFile)))
    elif any(part.file.is_below(target) for part in parts):
        raise InvalidInputError(f"{target}: would replace a file that is read. Write to another one.")
    counts, withdrawn, standard = Counts(report), False, str(target) == STANDARD
    to_file = nullcontext(Path(STANDARD)) if standard else target.atomic_write()
    with closing(_scored(scorer, paths, watch)) as scored, to_file as temporary:
        kind.write(temporary, counts.of(scored))  # type: ignore[misc]
        withdrawn = holds is not None and not holds()
        if withdrawn and not standard:
            with atomic_write(temporary) as again:
                clear_accepted(kind, temporary, again)
    return Written(counts.rows, counts.bad, withdrawn=withdrawn)


def _scored(
    scorer: Scorer, paths: Sequence[str | os.PathLike[str]], watch: Watch | None
) -> Generator[ScoredBatch, None, None]:
    """Read and score; errors from here are about the table, and those of writing are not."""
    with open_source(*paths) as source:
        once = STANDARD in map(str, paths)
        names = scorer.class_names if once else scorer.prediction_names(source)
        n_rows = 0
        for batch in scorer.batches(source, names, watch, names_by_first=once):
            n_rows += batch.rows
            if n_rows:
                yield batch
        if not n_rows:
            raise InvalidInputError("there are no rows to score. Check where the file comes from.")
