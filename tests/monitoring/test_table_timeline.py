"""Timelines of tables: the same as of arrays, in whatever order and file the rows come, and in little memory."""

import io
import tracemalloc
from collections import Counter

import numpy as np
import pytest

import auxcal
from auxcal import InputWarning, InvalidInputError
from auxcal.monitoring import FEWEST_ROWS, table_timeline, timeline
from auxcal.monitoring._monitor import Monitor
from auxcal.monitoring._timeline import PendingChunks
from auxcal.monitoring.timed import Timed
from auxcal.tables import TimedTable, batches

DAYS = ["2026-11-01", "2026-11-02", "2026-11-03"]
LINE = "day,logit_0,logit_1,logit_2,y"


@pytest.fixture(scope="module")
def rows():
    """Give logits, true classes, which are known, and days: two full ones, and one with few rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=600)
    logits = (rng.normal(size=(600, 3)) + 2 * np.eye(3)[y]).round(2)
    return logits, y, rng.random(600) < 0.3, np.repeat(DAYS, [300, 290, 10])


@pytest.fixture(scope="module")
def calibrator(rows):
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=500)
    return auxcal.PlattScaling().fit(rng.normal(size=(500, 3)) + 2 * np.eye(3)[y], y)


ORDERS = {
    "sorted": lambda n: np.arange(n),
    "reversed": lambda n: np.arange(n)[::-1],
    "shuffled": np.random.default_rng(2).permutation,
}


def lines_of(logits, y, known, days):
    columns = (days, *logits.T, np.where(known, y, -9).astype(str))
    return [",".join(map(str, row)).removesuffix("-9") for row in zip(*columns, strict=True)]


def one_file(folder, lines):
    (folder / "rows.csv").write_text("\n".join([LINE, *lines]))
    return folder / "rows.csv"


def partitions(folder, lines):
    for day in DAYS:
        mine = [line.removeprefix(f"{day},") for line in lines if line.startswith(day)]
        (folder / "table" / f"day={day}").mkdir(parents=True)
        (folder / "table" / f"day={day}" / "0.csv").write_text("\n".join([LINE.removeprefix("day,"), *mine]))
    return folder / "table"


def parquet(folder, lines):
    from pyarrow import csv
    from pyarrow.parquet import write_table

    write_table(csv.read_csv(one_file(folder, lines)), folder / "rows.parquet", row_group_size=100)
    return folder / "rows.parquet"


def assert_same(found, expected):
    assert [chunk.name for chunk in found.chunks] == [chunk.name for chunk in expected.chunks] == DAYS
    for ours, theirs in zip(found.chunks, expected.chunks, strict=True):
        assert (ours.verdict, ours.n_rows, ours.n_labels) == (theirs.verdict, theirs.n_rows, theirs.n_labels)
        assert ours.measured == theirs.measured
        assert ours.alarms == theirs.alarms
        assert ours.confidence == pytest.approx(theirs.confidence)
        assert ours.evidence == pytest.approx(theirs.evidence, rel=1e-3)
    assert found.chunks[0].check.p_new == pytest.approx(expected.chunks[0].check.p_new, rel=1e-3)
    assert found.chunks[0].check.level == expected.chunks[0].check.level == 0.05 / 2


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("write", [one_file, pytest.param(parquet, marks=pytest.mark.needs("tables"))])
def test_a_table_gives_what_its_arrays_give(write, order, rows, calibrator, tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_BYTES", 2**13)
    logits, y, known, days = (each[ORDERS[order](600)] for each in rows)
    table = TimedTable(calibrator, write(tmp_path, lines_of(logits, y, known, days)), by="day")
    assert table.counts() == Counter(days.tolist())
    assert_same(table_timeline(calibrator, table), timeline(calibrator, logits, days, y, labelled=known))


def test_the_column_of_the_order_may_be_a_partition(rows, calibrator, tmp_path):
    logits, y, known, days = rows
    table = TimedTable(calibrator, partitions(tmp_path, lines_of(*rows)), by="day")
    assert table.counts() == Counter(days.tolist())
    assert_same(table_timeline(calibrator, table), timeline(calibrator, logits, days, y, labelled=known))


def test_standard_input_is_read_once(rows, calibrator, monkeypatch):
    logits, y, known, days = rows
    text = "\n".join([LINE, *lines_of(*rows)]).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    table = TimedTable(calibrator, "-", by="day")
    assert table.counts() is None
    assert_same(table_timeline(calibrator, table), timeline(calibrator, logits, days, y, labelled=known))


def test_bad_rows_count_neither_for_the_level_nor_as_rows(rows, calibrator, tmp_path):
    logits, y, known, days = rows
    lines = lines_of(*rows)
    bad = [f"{DAYS[2]},nan,0,0,"] * FEWEST_ROWS + [",nan,0,0,"]
    table = TimedTable(calibrator, one_file(tmp_path, [*lines[:5], *bad, *lines[5:]]), by="day", on_bad_rows="skip")
    with pytest.warns(InputWarning, match="of 621 rows, 21 bad rows") as said:
        found = table_timeline(calibrator, table)
    assert len(said) == 1
    assert_same(found, timeline(calibrator, logits, days, y, labelled=known))


@pytest.mark.parametrize("skip", ["fail", "skip"])
def test_a_row_without_a_chunk_is_named_with_its_file(skip, calibrator, tmp_path):
    (tmp_path / "rows.csv").write_text(f"{LINE}\nmonday,2,0,0,0\n ,2,0,0,0\n")
    table = TimedTable(calibrator, tmp_path / "rows.csv", by="day", on_bad_rows=skip)
    for reading in (table.counts, lambda: list(table.batches())):
        with pytest.raises(
            InvalidInputError, match=rf"^{tmp_path / 'rows.csv'}: by \(--by\) must .* row 1 has nothing"
        ):
            reading()


def test_a_row_without_a_chunk_is_counted_in_its_part(calibrator, tmp_path):
    for part in "ab":
        (tmp_path / f"{part}.csv").write_text(f"{LINE}\nmonday,2,0,0,0\n" + (",2,0,0,0\n" if part == "b" else ""))
    with pytest.raises(InvalidInputError, match=rf"^{tmp_path / 'b.csv'}: by \(--by\) must .* row 1 has nothing"):
        TimedTable(calibrator, tmp_path, by="day").counts()


def test_a_label_that_is_no_class_is_named_with_its_batch(rows, calibrator, tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_BYTES", 2**13)
    lines = lines_of(*rows)
    lines[-1] = f"{DAYS[2]},2,0,0,7"
    table = TimedTable(calibrator, one_file(tmp_path, lines), by="day")
    with pytest.raises(InvalidInputError, match=r"rows\.csv: .*got 7 in row \d+ .* Rows are counted from row \d+\."):
        list(table.batches())


class Made:
    """Rows that are made when they are asked for, as many of each chunk and batch."""

    def __init__(self, chunks, n_rows, n_classes, counted=None):
        self.chunks, self.n_rows, self.n_classes = chunks, n_rows, n_classes
        self.counted = counted or Counter({name: n_rows * chunks.count(name) for name in chunks})

    def counts(self):
        return self.counted

    def batches(self):
        rng = np.random.default_rng(0)
        for name in self.chunks:
            logits = rng.normal(size=(self.n_rows, self.n_classes)).astype(np.float32)
            yield Timed(logits, None, None, None, np.full(self.n_rows, name, dtype=object), None)


@pytest.mark.parametrize("chunks", [[*"abcdefghijklmnop"], [*"ponmlkjihgfedcba"]])
def test_memory_does_not_grow_with_the_logits(chunks):
    made = Made(chunks, n_rows=250, n_classes=300)
    first = next(made.batches()).logits
    calibrator = auxcal.PlattScaling().fit(first, first.argmax(axis=1))
    table_timeline(calibrator, Made(chunks[:1], 250, 300))  # imports what it needs
    tracemalloc.start()
    found = table_timeline(calibrator, made)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.chunks) == 16
    assert most < 16 * first.nbytes / 2  # of which a batch takes most: its logits are copied when it is scored


@pytest.mark.parametrize(("chunks", "open_ones", "samples"), [("aabbcc", 1, 1), ("ccbbaa", 3, 1), ("abcabc", 3, 3)])
def test_what_is_whole_is_let_go_of(chunks, open_ones, samples, calibrator):
    pending = PendingChunks(Monitor(calibrator), Counter(dict.fromkeys(chunks, 60)))
    most = [0, 0]
    found = []
    for batch in Made(chunks, 30, 3).batches():
        found += pending.add(batch)
        most = np.maximum(most, [len(pending._rows), len(pending._samples)])
    assert [chunk.name for chunk in [*found, *pending.finish()]] == ["a", "b", "c"]
    assert not pending._rows
    assert most.tolist() == [open_ones, samples]


@pytest.mark.parametrize(("counts", "name"), [({"a": 30}, "b"), ({"a": 20, "b": 30}, "a"), ({"a": 30, "b": 31}, "b")])
def test_a_table_that_changes_while_it_is_read_is_refused(counts, name, calibrator):
    with pytest.raises(InvalidInputError, match=f"in the second, '{name}' has (more|fewer) rows. Start again"):
        table_timeline(calibrator, Made("ab", 30, 3, counts))
