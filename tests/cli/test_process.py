"""What surrounds a command: the files that it reads and writes, its streams, its terminal, and what ends it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import auxcal
from auxcal.cli import main
from auxcal.cli._process import process

HEADER = "id,logit_0,logit_1,y\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give a folder with data in two formats and a calibrator."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 2))
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    np.savez(tmp_path / "data.npz", logits=logits, y=y)
    lines = (f"r{i},{a:.4f},{b:.4f},{k}" for i, ((a, b), k) in enumerate(zip(logits, y, strict=True)))
    (tmp_path / "data.csv").write_text(HEADER + "\n".join(lines) + "\n")
    auxcal.TemperatureScaling().fit(logits, y).save(tmp_path / "cal.safetensors")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["score", "cal.safetensors", "data.csv", "-o", "data.csv"],
        ["score", "cal.safetensors", "data.csv", "-o", "./../{here}/data.csv"],
        ["score", "cal.safetensors", "data.csv", "-o", "link.csv"],
        ["score", "cal.safetensors", "data.npz", "-o", "cal.safetensors"],
        ["fit", "tensors.safetensors", "-o", "tensors.safetensors"],
        ["transfer", "cal.safetensors", "data.npz", "-o", "cal.safetensors"],
        ["compare", "results.csv", "--out", "."],
        ["compare", "data.csv", "--test", "results.csv", "--out", "."],
        ["compare", "data.csv", "--class-names", "results.json", "--out", "."],
        ["fit", "data.csv", "--class-names", "tensors.safetensors", "-o", "tensors.safetensors"],
        ["fit", "data.csv", "--select", "tensors.safetensors", "-o", "tensors.safetensors"],
        ["fit", "parts", "-o", "parts/part.safetensors"],
        ["fit", "p*/*.safetensors", "-o", "parts/part.safetensors"],
        ["fit", "**/part.*", "-o", "parts/part.safetensors"],
        ["adapt", "cal.safetensors", "parts", "-o", "parts/part.safetensors"],
        ["adapt", "cal.safetensors", "data.csv", "--labelled", "tensors.safetensors", "-o", "tensors.safetensors"],
        ["pick", "cal.safetensors", "data.csv", "--n", "5", "-o", "link.csv"],
        ["pick", "cal.safetensors", ".", "--n", "5", "-o", "data.csv"],
        ["score", "cal.safetensors", "file://{whole}/data.csv", "-o", "data.csv"],
        ["score", "cal.safetensors", "data.csv", "-o", "file://{whole}/data.csv"],
        ["score", "cal.safetensors", "data.csv", "-o", "local://data.csv"],
        ["fit", "FILE://{whole}/tensors.safetensors", "-o", "tensors.safetensors"],
        ["monitor", "cal.safetensors", "data.csv", "--by", "id", "-o", "hard.csv"],
        ["export", "cal.safetensors", "--into", "data.csv", "-o", "data.csv"],
    ],
)
def test_no_command_writes_onto_what_it_reads(arguments, folder, call, capsys):
    (folder / "link.csv").symlink_to(folder / "data.csv")
    shutil.copy(folder / "data.csv", folder / "results.csv")
    (folder / "results.json").write_text("a\nb\n")
    (folder / "hard.csv").hardlink_to(folder / "data.csv")
    (folder / "parts").mkdir()
    for name in ("tensors.safetensors", "parts/part.safetensors"):
        shutil.copy(folder / "data.npz", folder / name)
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    assert call(*(argument.format(here=folder.name, whole=folder) for argument in arguments)) == 2
    assert "would replace a file that is read" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before


@pytest.mark.parametrize(("raised", "code"), [(SystemExit(143), 143), (KeyboardInterrupt(), 130)])
def test_a_signal_that_python_wraps_is_one_all_the_same(raised, code, capsys):
    """Up to Python 3.11 what is raised while a class is made, as in imports, becomes a RuntimeError."""
    with pytest.raises(SystemExit) as ended, process():
        raise RuntimeError("Error calling __set_name__") from raised
    assert ended.value.code == code
    assert "Traceback" not in capsys.readouterr().err


def test_ctrl_c_outside_of_the_library_of_the_command_line_is_no_traceback(monkeypatch, capsys):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr("auxcal.cli.app", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == ""


BEFORE_AND_AFTER = """
import signal
from auxcal import cli
from auxcal.__main__ import main

def say(when):
    print(when, signal.getsignal(signal.SIGINT) is signal.default_int_handler)

process = cli.process
cli.process = lambda: say("before") or process()
cli.app = lambda **_: say("inside")
try:
    main()
finally:
    say("after")
"""


def test_ctrl_c_is_an_exception_only_where_somebody_catches_it(patience):
    run = partial(subprocess.run, capture_output=True, timeout=patience, text=True)
    assert run([sys.executable, "-c", BEFORE_AND_AFTER]).stdout == "before False\ninside True\nafter False\n"
    code = "import sys, signal; from auxcal.__main__ import main; sys.modules['auxcal.cli'] = None\n"
    code += "try: main()\nexcept ImportError: print(signal.getsignal(signal.SIGINT) is signal.SIG_DFL)"
    assert run([sys.executable, "-c", code]).stdout == "True\n"


def test_few_rows_are_one_line(folder, call, capsys):
    lines = (folder / "data.csv").read_text().splitlines(keepends=True)
    (folder / "few.csv").write_text("".join(lines[:13]))
    assert call("fit", "few.csv", "-o", "few.safetensors", "--method", "platt") == 0
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("auxcal: warning: 12 rows are few to learn from: label 100 or more")


def test_standard_output_is_not_what_is_read(folder, patience):
    before = (folder / "data.csv").read_bytes()
    with (folder / "data.csv").open("ab") as out:
        run = [sys.executable, "-m", "auxcal", "score", "cal.safetensors", "data.csv"]
        assert subprocess.run(run, stdout=out, stderr=subprocess.DEVNULL, timeout=patience).returncode == 2
    assert (folder / "data.csv").read_bytes() == before


@pytest.mark.parametrize("row", ['r6,1,"2,0\n', 'r6,"1"x,2,0\n', '"r6,1,2,0\n'])
def test_a_stray_quote_is_an_error_with_its_line(row, folder, call, capsys):
    lines = (folder / "data.csv").read_text().splitlines(keepends=True)
    (folder / "stray.csv").write_text("".join([*lines[:7], row, *lines[7:]]))
    assert call("score", "cal.safetensors", "stray.csv", "-o", "out.csv") == 2
    assert "Row #8" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()


def test_a_long_cell_is_read_and_the_limit_of_csv_stays(folder, call):
    import csv

    before, text = csv.field_size_limit(), "x" * 200_000
    (folder / "long.csv").write_text(f'{HEADER}"{text}",1,2,1\n')
    assert call("score", "cal.safetensors", "long.csv", "-o", "out.csv") == 0
    assert text in (folder / "out.csv").read_text()
    assert csv.field_size_limit() == before


def test_blank_rows_are_left_out_below_the_last_one_alone(folder, call, capsys):
    (folder / "below.csv").write_text(f"{HEADER}a,1,2,1\nb,2,1,0\n\n,,,\n,,,\n")
    assert call("score", "cal.safetensors", "below.csv", "-o", "out.csv") == 0
    (folder / "between.csv").write_text(f"{HEADER}a,1,2,1\n,,,\nb,2,1,0\n")
    assert call("score", "cal.safetensors", "between.csv", "-o", "other.csv") == 2
    assert "Row #3: nothing in any column" in capsys.readouterr().err


def test_missing_text_is_empty_in_arrays(folder, call):
    (folder / "names.csv").write_text("id,logit_0,logit_1,y\na,1,2,1\nb,2,1,\nc,2,1,0\n")
    assert call("score", "cal.safetensors", "names.csv", "-o", "out.npz") == 0
    with np.load(folder / "out.npz") as arrays:
        assert "None" not in {str(value) for name in arrays for value in arrays[name]}


def test_names_may_be_many_and_their_file_must_be_text(folder, call, capsys):
    names = ",".join(f"a class with a long name {k}" for k in range(40))
    assert call("evaluate", "data.csv", "--class-names", names) == 2
    assert "too long" not in capsys.readouterr().err
    (folder / "names.txt").write_bytes("Käfer\nLöwe\n".encode("latin-1"))
    assert call("fit", "data.npz", "-o", "new.safetensors", "--class-names", "names.txt") == 2
    assert "names.txt: expected text in UTF-8" in capsys.readouterr().err


def test_no_escape_sequence_reaches_the_terminal(folder, call, capsys):
    (folder / "\x1b[31mred.csv").write_text(f"{HEADER}a,\x1b[32m,2,1\n")
    call("score", "cal.safetensors", "\x1b[31mred.csv", "-o", "out.csv")
    shutil.copy(folder / "data.npz", folder / "\x1b[31m\x9bred.npz")
    assert call("fit", "\x1b[31m\x9bred.npz", "-o", "\x1b[31m\x9bred.safetensors", "--method", "platt") == 0
    assert call("fit", "data.npz", "-o", "\x1b[31m\x9bred.safetensors", "--method", "platt", "--json") == 0
    printed = "".join(capsys.readouterr())
    assert "red.csv" in printed
    assert not {"\x1b", "\x9b"} & set(printed)


@pytest.mark.needs("report")
def test_names_in_a_table_are_neither_markup_nor_escape_sequences(folder, call, capsys):
    name = "[/]\x1b[31m:cat:"
    rows = (folder / "data.csv").read_text().replace("\n", f",{name}\n").replace(name, "day", 1)
    (folder / "days.csv").write_text(rows)
    assert call("monitor", "cal.safetensors", "days.csv", "--by", "day", "-o", "[bold].html") != 2
    printed = "".join(capsys.readouterr())
    assert "[/]\\x1b[31m:cat:" in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize("columns", ["0", "-3", "x", "1"])
def test_a_terminal_of_any_width_shows_the_table(columns, folder, call, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    assert call("compare", "data.npz", "--out", "report", "--methods", "platt") == 0
    assert "Platt" in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_terminal_of_any_encoding_is_told(encoding, folder, command):
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    for arguments in (["methods"], ["fit", "data.npz", "-o", "λ→.safetensors", "--method", "platt", "--json"]):
        done = command(*arguments, env=environment, text=False)
        assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout.decode(encoding))["out"] == "λ→.safetensors"


@pytest.mark.parametrize("stream", [">&-", "2>&-", "<&-", ">/dev/full", "2>/dev/full", ">&- 2>&- <&-"])
@pytest.mark.parametrize("arguments", ["methods", "score cal.safetensors -"])
def test_a_stream_that_is_closed_or_full_gives_no_traceback(stream, arguments, folder, patience):
    line = f"{sys.executable} -m auxcal {arguments} {stream}"
    given = None if "<" in stream else (folder / "data.csv").read_bytes()
    done = subprocess.run(["/bin/sh", "-c", line], input=given, capture_output=True, timeout=patience)
    reads, lost = arguments.endswith("-") and "<" in stream, stream.startswith(">")
    assert done.returncode == (2 if lost or reads else 0)
    assert b"Traceback" not in done.stderr + done.stdout
    assert b"Exception ignored" not in done.stderr


def sleeps(pid):
    """Whether a process waits for input: Python sees a signal that comes just before it reads only after reading."""
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "S"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_command_that_is_ended_leaves_no_temporary_file(name, folder, patience, wait_until):
    """It reads standard input, which never ends, into a file that is begun."""
    run = [sys.executable, "-m", "auxcal", "score", "cal.safetensors", "-", "-o", "out.csv"]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(lambda: process.poll() is not None or (any(folder.rglob("*.part")) and sleeps(process.pid)))
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=patience) in (128 + getattr(signal, name), 130)
        assert b"Traceback" not in process.stderr.read()
    assert not [path for path in folder.iterdir() if path.suffix == ".part" or path.name == "out.csv"]


def test_an_interrupted_comparison_leaves_the_old_one_whole(folder, call, monkeypatch):
    assert call("compare", "data.npz", "--out", "report", "--methods", "platt") == 0
    before = {path.name: path.read_bytes() for path in (folder / "report").iterdir()}

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("auxcal.report.folder.comparisons_as_json", full)
    assert call("compare", "data.npz", "--out", "report", "--methods", "temperature") == 2
    assert {path.name: path.read_bytes() for path in (folder / "report").iterdir()} == before


def test_a_name_is_no_formula_in_the_table(folder, call):
    shutil.copy(folder / "data.npz", folder / "=1+1.npz")
    assert call("compare", "=1+1.npz", "--out", "report", "--methods", "platt") == 0
    assert "\n'=1+1," in (folder / "report" / "results.csv").read_text()
