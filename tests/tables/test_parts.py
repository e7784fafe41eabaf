"""A folder, a pattern or several files are one table: its parts in order, and the keys of their partitions."""

import os

import numpy as np
import pytest

from auxcal import FileFormatError, InvalidInputError, Uncalibrated
from auxcal.tables import read_labelled, read_predictions, score_table
from auxcal.tables.parts import find_parts
from auxcal.tables.readers import open_source

from .conftest import pa, pq

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(30, 3)).round(3)
Y = RNG.integers(3, size=30)
ENDINGS = [".csv", ".npz", pytest.param(".parquet", marks=pytest.mark.needs("tables"))]


def write_part(path, rows, **others):
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {f"logit_{k}": LOGITS[rows, k] for k in range(3)} | {"y": Y[rows]} | others
    if path.suffix == ".npz":
        np.savez(path, **columns)
    elif path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    else:
        lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
        path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(params=ENDINGS)
def folder(request, tmp_path):
    """Give a folder with two partitions, and what engines leave beside the parts."""
    table = tmp_path / "table"
    for place, name in enumerate(("day=1/part-0", "day=1/part-1", "day=2/part-0")):
        write_part(table / f"{name}{request.param}", slice(10 * place, 10 * place + 10))
    (table / "_SUCCESS").touch()
    (table / "day=1" / ".part-0.crc").touch()
    (table / "_temporary").mkdir()
    (table / "_temporary" / "part-9.csv").write_text("half")
    return table


def test_the_rows_of_all_parts_in_order(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    files = sorted(folder.glob("day=*/part-*"))
    for paths in (["table"], [folder], ["table/*"], ["table/**/part-*"], ["table/day=*/*"], files, [folder.as_uri()]):
        data = read_predictions(*paths)
        assert np.array_equal(data.logits, LOGITS), paths
        assert np.array_equal(data.y, Y), paths


def test_the_keys_of_partitions_are_columns(folder):
    read = read_labelled(folder, id_column="day")
    assert read.ids.tolist() == ["1"] * 20 + ["2"] * 10
    assert read_labelled(folder / "day=2", id_column="day").ids.tolist() == ["2"] * 10
    data = read_predictions(folder, label="day")
    assert data.y.tolist() == [1] * 20 + [2] * 10


def test_names_below_the_folder_of_all_parts(folder):
    ending = next(folder.glob("day=1/part-0*")).suffix
    names = [f"day=1/part-0{ending}", f"day=1/part-1{ending}", f"day=2/part-0{ending}"]
    for paths in ([folder], [folder / "*"], [folder / "day=1", folder / "day=2"], sorted(folder.glob("day=*/part*"))):
        assert [part.relative for part in find_parts(*paths)] == names
    assert [part.relative for part in find_parts(folder / names[0])] == [f"part-0{ending}"]


def test_a_part_of_its_own_kind_is_named(folder):
    part = next(folder.glob("day=2/part-0*"))
    write_part(part, slice(20, 30), extra=np.ones(10))
    with pytest.raises(InvalidInputError, match=rf"^{part}: expected the columns of .*part-0.*this one adds 'extra'\."):
        read_predictions(folder)
    part.write_text("logit_0,logit_1,y\n1,2,0\n")
    with pytest.raises((InvalidInputError, FileFormatError), match=f"^{part}: expected"):
        read_predictions(folder)


def test_files_of_other_formats_are_not_passed_over(folder):
    (folder / "README.md").touch()
    with pytest.raises(InvalidInputError, match=r"expected files of one format; got 3 \.\w+, 1 \.md: .*README\.md"):
        read_predictions(folder)


def test_parts_without_rows(tmp_path):
    write_part(tmp_path / "b.csv", slice(0, 10))
    write_part(tmp_path / "c.csv", slice(0, 0))
    (tmp_path / "a.csv").touch()
    assert len(read_predictions(tmp_path)) == 10
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("logit_0,logit_1,logit_2,y\n")
    with pytest.raises(InvalidInputError, match="there are no rows"):
        read_predictions(tmp_path)


def test_pairs_are_no_parts(tmp_path):
    np.save(tmp_path / "logits.npy", LOGITS)
    np.save(tmp_path / "y.npy", Y)
    with pytest.raises(InvalidInputError, match=r"expected two \.npy files, logits and y.*Name these two"):
        read_predictions(tmp_path)
    assert len(read_predictions(tmp_path / "y.npy", tmp_path / "logits.npy")) == 30


def test_a_name_that_looks_like_a_pattern(tmp_path):
    write_part(tmp_path / "a[1].csv", slice(0, 10))
    assert len(read_predictions(tmp_path / "a[1].csv")) == 10


def test_a_file_and_a_link_to_it_are_not_two_parts(tmp_path):
    write_part(tmp_path / "day-1.csv", slice(0, 10))
    (tmp_path / "latest.csv").symlink_to("day-1.csv")
    with pytest.raises(InvalidInputError, match=r"day-1\.csv and .*latest\.csv: one file is named"):
        read_predictions(tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("nowhere.csv")], ids=["pipe", "broken link"])
def test_what_is_no_file_is_not_a_part_without_rows(make, tmp_path):
    write_part(tmp_path / "a.csv", slice(0, 10))
    make(tmp_path / "b.csv")
    with pytest.raises((InvalidInputError, FileNotFoundError), match=r"b\.csv"):
        read_predictions(tmp_path)


@pytest.mark.needs("tables")
def test_columns_get_the_types_of_the_first_part(tmp_path):
    write_part(tmp_path / "0.parquet", slice(0, 10))
    write_part(tmp_path / "1.parquet", slice(10, 20), y=pa.array([0.0, None] * 5))  # as pandas writes missing numbers
    write_part(tmp_path / "2.parquet", slice(20, 30), y=pa.nulls(10))
    with pytest.warns(match="15 of 30 rows have no label"):
        assert len(read_predictions(tmp_path)) == 15
    write_part(tmp_path / "2.parquet", slice(20, 30), y=["cat"] * 10)
    with pytest.raises(
        InvalidInputError, match=r"2\.parquet: the column 'y' holds string, and int64 in the first part"
    ):
        read_predictions(tmp_path)


@pytest.mark.needs("tables")
def test_a_column_without_values_has_the_type_of_a_later_part(tmp_path):
    write_part(tmp_path / "0.parquet", slice(0, 10), y=pa.nulls(10), note=pa.nulls(10))
    write_part(tmp_path / "1.parquet", slice(10, 20), y=pa.nulls(10), note=["seen"] * 10)
    write_part(tmp_path / "2.parquet", slice(20, 30), note=pa.nulls(10))
    with pytest.warns(match="20 of 30 rows have no label"):
        assert read_predictions(tmp_path).y.tolist() == Y[20:].tolist()
    score_table(Uncalibrated().fit(LOGITS, Y), tmp_path, out=tmp_path / "scored.parquet")
    scored = pq.read_table(tmp_path / "scored.parquet")
    assert scored["note"].to_pylist() == [None] * 10 + ["seen"] * 10 + [None] * 10
    assert scored["y"].to_pylist() == [None] * 20 + Y[20:].tolist()


def test_progress_over_all_parts(tmp_path):
    for place in range(3):
        write_part(tmp_path / f"{place}.csv", slice(10 * place, 10 * place + 10))
    with open_source(tmp_path) as source:
        assert [round(batch.done, 2) for batch in source.batches(["logit_0"], [])] == [0.34, 0.67, 1.0]


@pytest.mark.parametrize("pattern", ["", "*", "*.csv", "**/*.csv"])
def test_the_case_of_an_extension_does_not_matter_and_links_are_followed(pattern, tmp_path):
    write_part(tmp_path / "table" / "a.csv", slice(0, 10))
    write_part(tmp_path / "table" / "PART.CSV", slice(10, 20))
    write_part(tmp_path / "elsewhere" / "b.csv", slice(20, 30))
    if pattern != "*.csv":
        (tmp_path / "table" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "loop").symlink_to(tmp_path / "table")
    (tmp_path / "table" / "self").symlink_to(tmp_path / "table")
    assert len(read_predictions(tmp_path / "table" / pattern)) == (20 if pattern == "*.csv" else 30)


@pytest.mark.parametrize("pattern", ["", "*/*.csv"])
def test_a_folder_that_can_not_be_read_is_an_error(pattern, tmp_path, monkeypatch):
    write_part(tmp_path / "a" / "a.csv", slice(0, 10))
    write_part(tmp_path / "b" / "b.csv", slice(0, 10))
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("b"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PermissionError):
        read_predictions(tmp_path / pattern)
