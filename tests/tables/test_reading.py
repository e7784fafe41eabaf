"""Logits and y are the same whatever file they come from, and a spreadsheet's CSV is read as it was meant."""

import json
import shutil
import sys
import zipfile
from io import BytesIO, TextIOWrapper

import numpy as np
import pytest
from safetensors.numpy import save_file

from auxcal import AuxcalError, FileFormatError, InvalidInputError, Predictions
from auxcal.tables import FORMATS, batches, read_predictions
from auxcal.tables.readers import csv_files

from .conftest import arrow_csv, pa, pq, torch

LOGITS = np.array([[2.5, 0.25, -1.0], [0.5, 1.5, 3.0], [-0.125, 4.0, 0.0], [1.0, 0.5, 0.25]], dtype=np.float32)
Y = np.array([0, 2, -1, 1])


def write_npz(folder):
    np.savez(folder / "a.npz", logits=LOGITS, y=Y)
    return [folder / "a.npz"]


def write_npy(folder):
    np.save(folder / "logits.npy", LOGITS)
    np.save(folder / "y.npy", Y)
    return [folder / "logits.npy", folder / "y.npy"]


def write_npy_the_other_way_round(folder):
    return write_npy(folder)[::-1]


def table(**more):
    return pa.table({f"logit_{k}": LOGITS[:, k] for k in range(3)} | {"y": Y} | more)


def write_parquet(folder):
    pq.write_table(table(), folder / "a.parquet", row_group_size=3)
    return [folder / "a.parquet"]


def write_parquet_with_lists(folder):
    lists = pa.array(LOGITS.tolist(), pa.list_(pa.float32()))
    pq.write_table(pa.table({"logits": lists, "y": Y}), folder / "lists.parquet")
    return [folder / "lists.parquet"]


def write_csv(folder, text=None, encoding="utf-8"):
    rows = "\n".join(",".join(map(str, [*row, label])) for row, label in zip(LOGITS, Y, strict=True))
    (folder / "a.csv").write_bytes((text or f"logit_0,logit_1,logit_2,y\n{rows}\n").encode(encoding))
    return [folder / "a.csv"]


def write_json_lines(folder):
    rows = [{"logits": row, "y": int(label)} for row, label in zip(LOGITS.tolist(), Y, strict=True)]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [folder / "a.jsonl"]


def write_safetensors(folder):
    save_file({"logits": LOGITS, "y": Y}, folder / "a.safetensors")
    return [folder / "a.safetensors"]


def write_torch(folder):
    torch.save({"logits": torch.tensor(LOGITS, requires_grad=True), "y": torch.tensor(Y)}, folder / "a.pt")
    return [folder / "a.pt"]


def write_bfloat16(folder):
    torch.save({"logits": torch.tensor(LOGITS).bfloat16(), "y": torch.tensor(Y).int()}, folder / "a.pth")
    return [folder / "a.pth"]


WRITERS = [
    write_npz,
    write_npy,
    write_npy_the_other_way_round,
    write_csv,
    write_parquet,
    write_parquet_with_lists,
    write_json_lines,
    write_safetensors,
    write_torch,
    write_bfloat16,
]


def check(part):
    assert isinstance(part, Predictions)
    assert np.array_equal(part.logits, LOGITS)
    assert np.array_equal(part.y, Y)


@pytest.mark.parametrize("write", WRITERS)
def test_every_format_gives_the_same_predictions(write, tmp_path):
    check(read_predictions(*write(tmp_path)))


@pytest.mark.parametrize("write", WRITERS)
def test_files_larger_than_a_batch_are_read_whole(write, tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_BYTES", 40)
    check(read_predictions(*write(tmp_path)))


@pytest.mark.parametrize("write", [write_npz, write_npy, write_parquet, write_parquet_with_lists, write_safetensors])
def test_float32_stays_float32(write, tmp_path):
    assert read_predictions(*write(tmp_path)).logits.dtype == np.float32


def test_every_format_is_tried_here(tmp_path):
    tried = {path.suffix for write in WRITERS for path in write(tmp_path)}
    assert tried == set(FORMATS) - {"-", ".tsv"}


def test_standard_input_is_csv(tmp_path, monkeypatch):
    contents = write_csv(tmp_path)[0].read_bytes()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(contents)))
    check(read_predictions("-"))


def test_the_ending_is_read_whatever_its_case(tmp_path):
    path = write_csv(tmp_path)[0]
    check(read_predictions(path.rename(tmp_path / "A.CSV")))


def test_columns_are_taken_by_their_number_not_by_their_place(tmp_path):
    k = 12
    logits = np.random.default_rng(0).normal(size=(5, k))
    names = sorted(f"logit_{i}" for i in range(k))  # logit_10 before logit_2
    columns = {name: logits[:, int(name[6:])] for name in names}
    pq.write_table(pa.table({"y": [0] * 5} | columns), tmp_path / "a.parquet")
    assert np.array_equal(read_predictions(tmp_path / "a.parquet").logits, logits)


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("cat,dog,fish,truth", ["cat", "dog", "fish"]),
        ("z0,z1,z2,truth", "z"),
        ("logit_00,logit_01,logit_02,truth", None),
        ("logit_0, logit_1, logit_2, truth", None),
    ],
)
def test_columns_can_be_named_or_numbered_after_a_prefix(header, columns, tmp_path):
    text = write_csv(tmp_path)[0].read_text().split("\n", 1)[1]
    path = write_csv(tmp_path, f"{header}\n{text}")[0]
    check(read_predictions(path, columns=columns, label="truth"))


def test_an_array_can_be_named(tmp_path):
    np.savez(tmp_path / "a.npz", scores=LOGITS, truth=Y, classes=np.array(["a", "b", "c"]))
    check(read_predictions(tmp_path / "a.npz", columns="scores", label="truth"))


def test_where_columns_are_named_labels_may_be_these_names(tmp_path):
    text = "cat,dog,fish,y\n2.5,0.25,-1,cat\n0.5,1.5,3,fish\n-0.125,4,0,-1\n1,0.5,0.25,dog\n"
    check(read_predictions(*write_csv(tmp_path, text), columns=["cat", "dog", "fish"]))


SPREADSHEETS = {
    "windows": "\ufefflogit_0,logit_1,logit_2,y\r\n2.5,0.25,-1,0\r\n0.5,1.5,3,2\r\n-0.125,4,0,-1\r\n1,0.5,0.25,1\r\n",
    "european": "logit_0;logit_1;logit_2;y\n2,5;0,25;-1;0\n0,5;1,5;3;2\n-0,125;4;0;-1\n1;0,5;0,25;1\n",
    "european with points": "logit_0;logit_1;logit_2;y\n2.5;0.25;-1;0\n0.5;1.5;3;2\n-0.125;4;0;-1\n1;0.5;0.25;1\n",
    "tabs": "logit_0\tlogit_1\tlogit_2\ty\n2.5\t0.25\t-1\t0\n0.5\t1.5\t3\t2\n-0.125\t4\t0\t-1\n1\t0.5\t0.25\t1\n",
    "quoted": '"logit_0","logit_1","logit_2","y"\n"2.5","0.25","-1","0"\n0.5,1.5,3,2\n-0.125,4,0,"-1"\n1,0.5,0.25,1\n',
    "blank lines": "\n\nlogit_0,logit_1,logit_2,y\n2.5,0.25,-1,0\n\n0.5,1.5,3,2\n-0.125,4,0,-1\n1,0.5,0.25,1\n\n,,,\n"
    ",,,\n",
    "float labels": "logit_0,logit_1,logit_2,y\n2.5,0.25,-1,0.0\n0.5,1.5,3,2.0\n-0.125,4,0,-1.0\n1,0.5,0.25,1.0\n",
    "no end of line": "logit_0,logit_1,logit_2,y\n2.5,0.25,-1,0\n0.5,1.5,3,2\n-0.125,4,0,-1\n1,0.5,0.25,1",
    "exponents": "logit_0,logit_1,logit_2,y\n2.5e0,25e-2,-1,0\n.5,1.5,3,2\n-0.125,4,0,-1\n1,0.5,2.5E-1,1\n",
    "notes with commas": 'note,logit_0,logit_1,logit_2,y\n"a, b",2.5,0.25,-1,0\n"c\nd",0.5,1.5,3,2\nü,-0.125,4,0,-1\n'
    ",1,0.5,0.25,1\n",
}


@pytest.mark.parametrize("text", SPREADSHEETS.values(), ids=SPREADSHEETS)
def test_a_csv_of_a_spreadsheet_is_read_as_it_was_meant(text, tmp_path):
    check(read_predictions(*write_csv(tmp_path, text)))


@pytest.mark.parametrize("text", SPREADSHEETS.values(), ids=SPREADSHEETS)
def test_it_does_not_matter_where_a_batch_ends(text, tmp_path, monkeypatch):
    paths = write_csv(tmp_path, text)
    for batch_bytes in range(8, 8 * len(text), 8):
        monkeypatch.setattr(batches, "BATCH_BYTES", batch_bytes)
        check(read_predictions(*paths))


def test_a_damaged_row_is_counted_from_the_first_line(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_BYTES", 80)
    path = tmp_path / "a.csv"
    path.write_text("\nlogit_0,logit_1,y\n" + "1,2,0\n" * 40 + "1,2\n")
    with pytest.raises(FileFormatError, match="Row #43: Expected 3 columns, got 2: 1,2"):
        read_predictions(path)


def test_blank_rows_can_fill_a_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_BYTES", 80)
    text = write_csv(tmp_path)[0].read_text()
    check(read_predictions(*write_csv(tmp_path, text + ",,,\n" * 50)))


def test_labels_of_parquet_can_be_categories_or_text(tmp_path):
    pq.write_table(table(category=pa.array(Y.astype(str)).dictionary_encode()), tmp_path / "a.parquet")
    check(read_predictions(tmp_path / "a.parquet", label="category"))


class TestProbabilities:
    PROBA = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])

    def write(self, folder, proba):
        columns = {f"prob_{k}": column for k, column in enumerate(proba.T)}
        pq.write_table(pa.table(columns | {"y": [0, 1]}), folder / "a.parquet")
        return folder / "a.parquet"

    def test_they_become_their_logarithms_and_zero_a_floor(self, tmp_path):
        part = read_predictions(self.write(tmp_path, self.PROBA), probabilities=True)
        assert np.allclose(part.logits, np.log([[0.5, 0.5, 1e-12], [0.25, 0.5, 0.25]]))

    def test_arrays_are_named_proba_and_an_npy_is_what_it_is_said_to_be(self, tmp_path):
        np.savez(tmp_path / "a.npz", proba=self.PROBA, y=[0, 1])
        np.save(tmp_path / "p.npy", self.PROBA)
        np.save(tmp_path / "y.npy", [0, 1])
        first = read_predictions(tmp_path / "a.npz", probabilities=True)
        second = read_predictions(tmp_path / "p.npy", tmp_path / "y.npy", probabilities=True)
        assert np.array_equal(first.logits, second.logits)
        assert (first.logits < 0).all()

    def test_they_are_never_told_from_logits_by_their_values(self, tmp_path):
        np.savez(tmp_path / "a.npz", logits=self.PROBA, y=[0, 1])
        assert np.array_equal(read_predictions(tmp_path / "a.npz").logits, self.PROBA)

    def test_without_the_word_they_are_refused(self, tmp_path):
        with pytest.raises(InvalidInputError, match=r"got probabilities\. Give probabilities=True"):
            read_predictions(self.write(tmp_path, self.PROBA))

    def test_logits_are_no_probabilities(self, tmp_path):
        with pytest.raises(InvalidInputError, match=r"got logits\. Leave out probabilities=True"):
            read_predictions(*write_parquet(tmp_path), probabilities=True)

    @pytest.mark.parametrize("row", [[0.5, 0.6, 0.0], [1.5, -0.5, 0.0], [0.3, 0.3, 0.3]])
    def test_every_row_must_add_up_to_one(self, row, tmp_path):
        path = self.write(tmp_path, np.array([self.PROBA[0], row]))
        with pytest.raises(InvalidInputError, match="row 1 has"):
            read_predictions(path, probabilities=True)

    def test_rounded_ones_are_taken(self, tmp_path):
        rounded = np.array([[0.333, 0.333, 0.333], [0.2, 0.3, 0.5]])
        part = read_predictions(self.write(tmp_path, rounded), probabilities=True)
        assert np.array_equal(part.logits, np.log(rounded))


class TestFeatures:
    FEATURES = np.array([[20, 0.5], [31, 1.5], [42, 0.25], [53, 0.75]], dtype=np.float32)
    COLUMNS = {"age": FEATURES[:, 0], "size": FEATURES[:, 1]}  # noqa: RUF012

    def arrays(self):
        return {"logits": LOGITS, "y": Y, "features": self.FEATURES}

    def write_table(self, folder, ending, columns):
        named = table(**columns)
        if ending == ".parquet":
            pq.write_table(named, folder / "a.parquet")
        else:
            arrow_csv.write_csv(named, folder / "a.csv")
        return folder / f"a{ending}"

    @pytest.mark.parametrize("ending", [".npz", ".safetensors", ".pt"])
    def test_an_array_of_that_name_is_taken_up(self, ending, tmp_path):
        path = tmp_path / f"a{ending}"
        if ending == ".npz":
            np.savez(path, **self.arrays())
        elif ending == ".safetensors":
            save_file(self.arrays(), path)
        else:
            torch.save({name: torch.tensor(array) for name, array in self.arrays().items()}, path)
        part = read_predictions(path)
        check(part)
        assert np.array_equal(part.features, self.FEATURES)
        assert read_predictions(path, features=()).features is None

    @pytest.mark.parametrize("ending", [".csv", ".parquet"])
    @pytest.mark.parametrize("batch", [40, 2**22])
    def test_columns_are_named(self, ending, batch, tmp_path, monkeypatch):
        monkeypatch.setattr(batches, "BATCH_BYTES", batch)
        path = self.write_table(tmp_path, ending, self.COLUMNS)
        part = read_predictions(path, features=["size", "age"])
        check(part)
        assert np.array_equal(part.features, self.FEATURES[:, ::-1])
        assert np.array_equal(read_predictions(path, features="age").features, self.FEATURES[:, :1])

    @pytest.mark.parametrize("ending", [".csv", ".parquet"])
    def test_a_column_of_that_name_is_not_taken_up(self, ending, tmp_path):
        path = self.write_table(tmp_path, ending, {"features": ["large", "red", "old", ""]})
        assert read_predictions(path).features is None

    def test_columns_are_numbered_after_a_prefix(self, tmp_path):
        path = self.write_table(tmp_path, ".csv", {"f1": self.COLUMNS["size"], "f0": self.COLUMNS["age"]})
        assert np.array_equal(read_predictions(path, features="f").features, self.FEATURES)

    def test_a_column_of_lists_and_others_beside_it(self, tmp_path):
        lists = pa.array(self.FEATURES.tolist(), pa.list_(pa.float32()))
        path = self.write_table(tmp_path, ".parquet", self.COLUMNS | {"layer": lists})
        assert np.array_equal(read_predictions(path, features="layer").features, self.FEATURES)
        both = read_predictions(path, features=["layer", "age"]).features
        assert np.array_equal(both, np.column_stack([self.FEATURES, self.FEATURES[:, 0]]))

    @pytest.mark.parametrize(
        ("features", "sentence"),
        [
            (["age", "hue"], r"there is no column 'hue'; .*\(--features\)"),
            ("layer_", r"there is no column 'layer_'; .*\(--features\)"),
            (["age", "y"], "neither logits nor true classes; got 'y'"),
            ("logit_", "neither logits nor true classes; got 'logit_0'"),
            (["age", "age"], "each be named once.*got 'age'"),
            (["word"], "invalid value 'red'"),
            (["hole"], r"features must be finite; got nan \(NaN or inf\) at \[2, 0\]"),
            ("part", "the columns part0 to part2 must all be there; part1 is not"),
        ],
    )
    def test_what_is_wrong_with_features_is_said(self, features, sentence, tmp_path):
        others = {"word": ["red"] * 4, "hole": [1, 2, None, 4], "part0": Y, "part2": Y}
        path = self.write_table(tmp_path, ".csv", self.COLUMNS | others)
        with pytest.raises((InvalidInputError, FileFormatError), match=sentence) as caught:
            read_predictions(path, features=features)
        assert str(caught.value).startswith(f"{path}: ")

    @pytest.mark.parametrize(
        ("features", "sentence"),
        [(np.ones((4, 2, 2)), r"got shape \(4, 2, 2\).*reshape"), (np.ones((3, 2)), "'features' 3")],
    )
    def test_an_array_of_another_shape_is_refused(self, features, sentence, tmp_path):
        np.savez(tmp_path / "a.npz", **self.arrays() | {"features": features})
        with pytest.raises(InvalidInputError, match=sentence):
            read_predictions(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("logit_0,logit_1,y\n", "there are no rows"),
        ("logit_0,logit_2,y\n1,2,0\n", "logit_1 is not"),
        ("logit_1,logit_2,y\n1,2,0\n", "logit_0 is not"),
        ("logit_0,logit_1,logit_01,y\n1,2,3,0\n", "'logit_1' and 'logit_01' are the same column"),
        ("logit_0,logit_1,logit_1,y\n1,2,3,0\n", "'logit_1' is there more than once"),
        ("logit_0,logit_1\n1,2\n", "there is no column 'y'; found 'logit_0', 'logit_1'"),
        ("a,b,y\n1,2,0\n", r"expected an array 'logits', or columns logit_0, logit_1, …; found 'a', 'b', 'y'"),
        ("logit_0,logit_1,y\n1,2,cat\n", r"got 'cat' in row 0 \(1 such rows\)\. Name the classes in order"),
        ("logit_0,logit_1,y\n1,2,\n1,2,NA\n", "no row has a label in 'y'"),
        ("logit_0,logit_1,y\n1,2,1.5\n", "got 1.5 in row 0"),
        ("logit_0,logit_1,y\n1,2,2\n", "got 2 in row 0"),
        ("logit_0,logit_1,y\n1,,0\n", r"logits must be finite; got nan \(NaN or inf\) at \[0, 1\]"),
        ("logit_0,logit_1,y\n1,#N/A,0\n", "logits must be finite"),
        ("logit_0,logit_1,y\n1,abc,0\n", "invalid value 'abc'"),
        ("logit_0,logit_1,y\n1,2,0\n1,2\n", "Expected 3 columns, got 2"),
        ("logit_0,y\n1,0\n", "got logit_0 alone"),
        ('logit_0;logit_1;y\n"1.234,5";2;0\n', "invalid value '1.234,5'"),
    ],
)
def test_what_is_wrong_with_a_csv_is_said(text, sentence, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises((InvalidInputError, FileFormatError), match=sentence) as caught:
        read_predictions(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_text_in_utf_16_is_refused_with_the_way_out(tmp_path):
    with pytest.raises(FileFormatError, match="Save it as 'CSV UTF-8'"):
        read_predictions(*write_csv(tmp_path, encoding="utf-16"))


def test_one_file_or_a_pair(tmp_path):
    with pytest.raises(InvalidInputError, match="name a file"):
        read_predictions()
    with pytest.raises(InvalidInputError, match=r"expected files of one format; got 1 \.npz, 1 \.csv"):
        read_predictions(*write_npz(tmp_path), *write_csv(tmp_path))
    with pytest.raises(InvalidInputError, match=r"got \(4, 3\) and \(4, 3\)"):
        read_predictions(write_npy(tmp_path)[0], shutil.copy(tmp_path / "logits.npy", tmp_path / "same.npy"))
    with pytest.raises(InvalidInputError, match="there is no column 'y'"):
        read_predictions(tmp_path / "logits.npy")


def test_arrays_of_different_lengths_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", logits=LOGITS, y=[*Y, 0])
    with pytest.raises(InvalidInputError, match="one row for each sample; got 'logits' 4, 'y' 5"):
        read_predictions(tmp_path / "a.npz")


def test_lists_of_different_lengths_are_refused(tmp_path):
    pq.write_table(pa.table({"logits": [[1.0, 2.0], [1.0]], "y": [0, 1]}), tmp_path / "a.parquet")
    with pytest.raises(InvalidInputError, match="the same length"):
        read_predictions(tmp_path / "a.parquet")


def test_no_code_runs_on_load(tmp_path):
    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("code ran",))

    torch.save({"logits": Evil()}, tmp_path / "a.pt")
    np.savez(tmp_path / "a.npz", logits=np.array([Evil()], dtype=object), y=[0])
    for name in ("a.pt", "a.npz"):
        with pytest.raises(FileFormatError, match=name):
            read_predictions(tmp_path / name)


@pytest.mark.parametrize("write", [write_npz, write_parquet, write_safetensors, write_torch, write_npy])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.95])
def test_a_damaged_file_is_one_sentence(write, share, tmp_path):
    path, *rest = write(tmp_path)
    contents = path.read_bytes()
    path.write_bytes(contents[: int(len(contents) * share)])
    with pytest.raises(FileFormatError, match="Check it, or save it again"):
        read_predictions(path, *rest)


@pytest.mark.filterwarnings("ignore")  # of the readers, about what they find
@pytest.mark.parametrize("write", WRITERS)
def test_changed_bytes_give_predictions_or_one_sentence(write, tmp_path):
    path, *rest = write(tmp_path)
    contents, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(30):
        changed = bytearray(contents)
        for place in rng.integers(len(contents), size=rng.integers(1, 6)):
            changed[place] = rng.integers(256)
        path.write_bytes(changed)
        answer = ""
        try:
            read_predictions(path, *rest)
        except AuxcalError as error:
            answer = str(error)
        assert "\n" not in answer


def test_a_long_header_below_blank_lines(tmp_path):
    names = [f"logit_{k}" for k in range(3)] + [f"a name of many letters {k:010}" for k in range(40_000)]
    path = tmp_path / "wide.csv"
    path.write_text("\n\n" + ",".join([*names, "y"]) + "\n" + ",".join(["1"] * (len(names) + 1)) + "\n")
    assert path.stat().st_size > csv_files._SAMPLE_BYTES
    assert read_predictions(path).y.tolist() == [1]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_array_that_is_there_twice_is_refused(tmp_path):
    np.save(tmp_path / "logits.npy", LOGITS)
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as file:
        for _ in range(2):
            file.write(tmp_path / "logits.npy", "logits.npy")
    with pytest.raises(FileFormatError, match="an array is there more than once"):
        read_predictions(tmp_path / "twice.npz")


def test_more_arrays_than_memory_are_refused_before_they_are_unpacked(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "zeros.npz", logits=np.zeros((100_000, 3)), y=np.zeros(100_000, int))
    monkeypatch.setattr("auxcal._core.memory._available", lambda: 2 * 10**6)
    with pytest.raises(InvalidInputError, match=r"takes some 0\.0032 GB of memory.*Save it as \.npy or \.parquet"):
        read_predictions(tmp_path / "zeros.npz")


@pytest.mark.needs("torch")
def test_what_torch_remarks_about_a_file_is_no_warning(tmp_path):
    torch.save({"logits": torch.tensor(LOGITS), "y": torch.tensor(Y)}, tmp_path / "four.pt", pickle_protocol=4)
    with zipfile.ZipFile(tmp_path / "script.pt", "w") as archive:  # as TorchScript writes it
        archive.writestr("script/constants.pkl", b"")
    for name in ("four.pt", "script.pt"):
        with pytest.raises(FileFormatError, match=name):
            read_predictions(tmp_path / name)


def test_a_tensor_with_more_entries_than_its_file_is_refused(tmp_path):
    torch.save({"logits": torch.zeros(1, 3).expand(10**10, 3)}, tmp_path / "endless.pt")
    with pytest.raises(FileFormatError, match=r"more entries than the file holds.*Save logits\.contiguous"):
        read_predictions(tmp_path / "endless.pt")


def test_labels_in_half_precision(tmp_path):
    np.savez(tmp_path / "half.npz", logits=LOGITS, y=np.array([0, 1, 2, 1], dtype=np.float16))
    assert read_predictions(tmp_path / "half.npz").y.tolist() == [0, 1, 2, 1]
