"""Tables in an object store, which a real server stands for."""

import logging
from contextlib import suppress

import numpy as np
import pytest

from auxcal import InvalidInputError, Uncalibrated
from auxcal.cli._files import refuse_overwrite
from auxcal.tables import read_predictions, read_scored, score_table
from auxcal.tables.parts import as_file

from .conftest import pa, pq

pytestmark = pytest.mark.needs("tables")

LOGITS = np.random.default_rng(0).normal(size=(30, 3)).round(3)
Y = np.arange(30) % 3


@pytest.fixture(scope="module")
def server():
    """Start an S3 server on the loopback and give its address."""
    moto = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    started = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    started.start()
    yield "{}:{}".format(*started.get_host_and_port())
    started.stop()


@pytest.fixture
def bucket(server, monkeypatch):
    """Give the URL of a new bucket, and set the environment as users do."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{server}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    filesystem = as_file(f"s3://logits/?endpoint_override={server}&scheme=http&allow_bucket_creation=true").filesystem
    filesystem.create_dir("logits")
    yield "s3://logits"
    filesystem.delete_dir_contents("logits")


def put(url, path):
    with as_file(url).atomic_write() as temporary:
        temporary.write_bytes(path.read_bytes())


@pytest.fixture
def table(bucket, tmp_path):
    """Put a table with two partitions into the bucket."""
    columns = {"logits": LOGITS.tolist(), "y": Y}
    for place, name in enumerate(("day=1/part-0", "day=1/part-1", "day=2/part-0")):
        rows = {key: column[10 * place : 10 * place + 10] for key, column in columns.items()}
        pq.write_table(pa.table(rows), tmp_path / "part.parquet")
        put(f"{bucket}/table/{name}.parquet", tmp_path / "part.parquet")
    (tmp_path / "empty").touch()
    put(f"{bucket}/table/_SUCCESS", tmp_path / "empty")
    return f"{bucket}/table"


def test_files_folders_and_patterns(table):
    for path in (table, f"{table}/", f"{table}/day=*", f"{table}/**/*.parquet", f"{table}/*/part-[01].parquet"):
        data = read_predictions(path)
        assert np.array_equal(data.logits, LOGITS), path
        assert np.array_equal(data.y, Y), path
    assert len(read_predictions(f"{table}/day=2/part-0.parquet")) == 10
    assert read_predictions(table, label="day").y.tolist() == [1] * 20 + [2] * 10


def test_options_in_the_url(table, server, monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    assert len(read_predictions(f"{table}?endpoint_override={server}&scheme=http")) == 30


def test_scores_are_written_there(table, bucket):
    fitted = Uncalibrated().fit(LOGITS + 1, Y)
    assert score_table(fitted, table, out=f"{bucket}/scored").resumed == 0
    assert np.allclose(read_scored(f"{bucket}/scored").confidence, fitted.predict_confidence(LOGITS), atol=1e-6)
    assert read_scored(f"{bucket}/scored", label="day", class_names=["0", "1", "2"]).y.tolist() == [1] * 20 + [2] * 10
    assert score_table(fitted, table, out=f"{bucket}/scored").resumed == 3
    as_file(f"{bucket}/scored/day=1/part-0.parquet").filesystem.delete_file("logits/scored/day=1/part-0.parquet")
    assert score_table(fitted, table, out=f"{bucket}/scored").resumed == 2
    assert score_table(fitted, table, out=f"{bucket}/all.csv").rows == 30
    assert len(read_scored(f"{bucket}/all.csv").y) == 30


def test_a_file_there_is_not_replaced_unless_asked(table, bucket, tmp_path):
    (tmp_path / "mine.csv").write_text("mine")
    put(f"{bucket}/mine.csv", tmp_path / "mine.csv")
    with pytest.raises(InvalidInputError, match=r"mine\.csv: this file is there already.*--overwrite"):
        refuse_overwrite(f"{bucket}/mine.csv", overwrite=False)
    refuse_overwrite(f"{bucket}/mine.csv", overwrite=True)
    refuse_overwrite(f"{bucket}/other.csv", overwrite=False)
    refuse_overwrite(table, overwrite=False)  # a folder has a record of what may be replaced


@pytest.mark.parametrize("ending", [".csv", ".npz", ".safetensors"])
def test_other_formats(ending, bucket, tmp_path):
    file = tmp_path / f"a{ending}"
    if ending == ".csv":
        file.write_text("logit_0,logit_1,logit_2,y\n" + "".join(f"{a},{b},{c},0\n" for a, b, c in LOGITS))
    elif ending == ".npz":
        np.savez(file, logits=LOGITS, y=Y)
    else:
        from safetensors.numpy import save_file

        save_file({"logits": LOGITS, "y": Y}, file)
    put(f"{bucket}/{file.name}", file)
    assert np.array_equal(read_predictions(f"{bucket}/{file.name}").logits, LOGITS)


def test_what_is_not_there_is_said(table, tmp_path):
    with pytest.raises(FileNotFoundError, match="s3://logits/table/no: there is no such file or folder"):
        read_predictions(f"{table}/no")
    with pytest.raises(InvalidInputError, match=r"s3://logits/table/\*\.csv: nothing matches"):
        read_predictions(f"{table}/*.csv")
    with pytest.raises(InvalidInputError, match="all on this machine, or all in one store"):
        read_predictions(f"{table}/day=1/part-0.parquet", tmp_path / "a.parquet")


def test_a_write_that_fails_leaves_nothing(bucket):
    target = as_file(f"{bucket}/out/part.csv")
    with suppress(ZeroDivisionError), target.atomic_write() as temporary:
        temporary.write_text("half")
        raise ZeroDivisionError
    assert not target.exists()


def test_what_fsspec_knows(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe("/folder/a.csv", b"logit_0,logit_1,y\n1,2,0\n")
    assert len(read_predictions("memory://folder/a.csv")) == 1
    assert len(read_predictions("memory://folder")) == 1


@pytest.mark.parametrize("address", ["memory://a/in.csv", "memory:///a/in.csv", "memory://a/%69n.csv", "memory://a"])
def test_nothing_is_written_onto_what_is_read(address):
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe("/a/in.csv", b"logit_0,logit_1,y\n1,2,0\n")
    calibrator = Uncalibrated().fit([[2.0, 0.0], [0.0, 1.0]], [0, 1])
    with pytest.raises(InvalidInputError, match="is read"):
        score_table(calibrator, "memory://a/in.csv", out=address)
    assert len(read_predictions("memory://a/in.csv")) == 1


@pytest.mark.parametrize("address", ["http://[::1/x.csv", "s3:///x.csv", "nothing://x.csv", "data://x"])
def test_what_is_no_address_is_said(address):
    with pytest.raises(InvalidInputError, match="this address can't be opened"):
        read_predictions(address)


def test_an_address_without_a_bucket_is_said_by_what_opens_buckets():
    with pytest.raises(InvalidInputError, match="Missing bucket name"):
        read_predictions("s3:///x.csv")
