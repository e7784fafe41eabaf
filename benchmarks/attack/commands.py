"""Every command in hostile surroundings, interrupted, and told to write onto what it reads."""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
from benchmarks.attack.numbers import Case, train_quickly
from benchmarks.attack.states import GOLDEN
from benchmarks.attack.surroundings import PATIENCE, Ended, Surroundings, is_running, preload, run, run_whole

_ROWS = 120
ARGUMENTS = {
    "demo": "--help",  # it fits every method, and writes as compare does
    "compare": "data.csv --out report --methods platt,temperature --class-names names.txt",
    "fit": "data.csv -o new.safetensors --method temperature --class-names names.txt",
    "transfer": "ccac-s.safetensors data.csv -o new.safetensors",
    "show": "cal.safetensors",
    "score": "cal.safetensors data.csv -o scored.csv",
    "check": "cal.safetensors data.csv",
    "adapt": "cal.safetensors data.csv -o new.safetensors --if-new warn",
    "monitor": "cal.safetensors data.csv --by day -o page.html",
    "evaluate": "scored-before.csv --resamples 5",
    "threshold": "scored-before.csv --risk 0.6 --save cal.safetensors",
    "pick": "cal.safetensors data.csv --n 5 -o picked.csv",
    "plan": "scored-before.csv --accuracy-within 0.03",
    "export": "cal.safetensors -o new.onnx",
    "methods": "",
    "reproduce": "--list --data .",
}
"""What each command is given; a new one must be added here."""

_CHANGED = {"threshold": {"cal.safetensors"}}  # what a command is asked to change
_SURROUNDINGS = {
    "plain": Surroundings(),
    "closed output": Surroundings({1: None}),
    "closed errors": Surroundings({2: None}),
    "closed input": Surroundings({0: None}),
    "all closed": Surroundings({0: None, 1: None, 2: None}),
    "full output": Surroundings({1: "/dev/full"}),
    "full errors": Surroundings({2: "/dev/full"}),
    "nobody reads": Surroundings({1: "|"}),
    "nobody reads anything": Surroundings({1: "|", 2: "|"}),
    "cp1252": Surroundings(environment={"PYTHONIOENCODING": "cp1252"}),
    "ascii": Surroundings(environment={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}),
    "no columns": Surroundings(environment={"COLUMNS": "0"}),
    "columns that are no number": Surroundings(environment={"COLUMNS": "x", "LINES": "-1", "TERM": ""}),
    "no home": Surroundings(environment={"HOME": None, "USER": None}),
    "no folder for temporary files": Surroundings(environment={"TMPDIR": "/nowhere"}),
    "no space": Surroundings(limits={resource.RLIMIT_FSIZE: 0}),
    "little space": Surroundings(limits={resource.RLIMIT_FSIZE: 1000}),
    "few files": Surroundings(limits={resource.RLIMIT_NOFILE: 16}),
    "a folder that is gone": Surroundings(folder_is_gone=True),
}
_UNSAID = ("no space", "little space")  # what a process says goes into a file, which these limit too
_ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP")
_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the time that a command takes


def cases() -> Iterator[tuple[str, Case]]:
    """Give the attacks on every command."""
    from auxcal.cli import COMMANDS

    preload()
    train_quickly()
    for command in (each.__name__ for each in COMMANDS):
        words = [command, *ARGUMENTS[command].split()]
        for name, found in _SURROUNDINGS.items():
            yield f"{command}: {name}", partial(_run, command, words, name, found)
        for ending in _ENDINGS:
            yield f"{command}: {ending} while it imports", partial(_interrupt_whole, command, words, ending)
            for share in _SHARES:
                yield f"{command}: {ending} after {share}", partial(_interrupt, command, words, ending, share)
        if (option := next((each for each in ("-o", "--out") if each in words), None)) is None:
            continue
        out = words[words.index(option) + 1]
        for ending in _ENDINGS:
            yield f"{command}: {ending} while it writes", partial(_interrupt, command, words, ending, None)
        for read in (each for each in words if "." in each and each != out):
            for name, onto in _names_of(read).items():
                told = _onto(words, out, read, onto)
                yield f"{command}: onto {name} {read}", partial(_run, command, told, "onto", Surroundings())
        for place in ("/proc/nowhere/new.csv", "/dev/full", "/dev/null/new.csv", "nowhere/new.csv", ".", "x" * 300):
            told = [place if word == out else word for word in words]
            yield f"{command}: into {place[:20]}", partial(_run, command, told, "into", Surroundings())


def _names_of(read: str) -> dict[str, str]:
    return {
        "itself": read,
        "another spelling of": f"./inner/../{read}",
        "a link to": f"link-{read}",
        "a hard link of": f"hard-{read}",
        "an address of": f"local://{read}",
        "a long way to": f"inner/../../here/{read}",
    }


def _onto(words: list[str], out: str, read: str, onto: str) -> list[str]:
    """Return the words with another output; compare writes results.csv into a folder, so it must read that."""
    if out == "report":
        return ["report/results.csv" if word == read else word for word in words]
    return [onto if word == out else word for word in words]


@cache
def contents() -> dict[str, bytes]:
    """Return what every folder begins with."""
    import auxcal

    rng = np.random.default_rng(0)
    found: dict[str, bytes] = {"names.txt": b"caf\xc3\xa9\n\xe2\x98\x83\nplain\n"}
    for name, k in (("data.csv", 3), ("data10.csv", 10)):
        z = rng.normal(size=(_ROWS, k))
        y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
        lines = [
            ",".join([*(f"{each:.3f}" for each in row), str(c), f"day {i // 40}"])
            for i, (row, c) in enumerate(zip(z, y, strict=True))
        ]
        head = ",".join([*(f"logit_{j}" for j in range(k)), "y", "day"])
        found[name] = "\n".join([head, *lines, ""]).encode()
        if k == 3:
            scored = "".join(
                f"{p},{0.5 + i / 300},{c}\n" for i, (p, c) in enumerate(zip(z.argmax(axis=1), y, strict=True))
            )
            found["scored-before.csv"] = ("prediction,confidence,y\n" + scored).encode()
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "cal.safetensors"
                auxcal.TemperatureScaling().fit(z, y).save(path)
                found[path.name] = path.read_bytes()
    found |= _answers(rng)
    found["ccac-s.safetensors"] = (GOLDEN / "ccac-s.safetensors").read_bytes()
    return found


def _answers(rng: np.random.Generator) -> dict[str, bytes]:
    """Return a table of answers with signals, and a calibrator of them."""
    import auxcal

    score, topic = rng.normal(size=_ROWS).round(3), rng.choice(["law", "art"], _ROWS)
    right = rng.random(_ROWS) < 1 / (1 + np.exp(-score))
    lines = (f"{each},{word},{int(truth)}\n" for each, word, truth in zip(score, topic, right, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "signals.safetensors"
        auxcal.SignalCalibrator(random_state=0).fit({"score": score, "topic": topic}, right).save(path)
        return {"answers.csv": f"score,topic,right\n{''.join(lines)}".encode(), path.name: path.read_bytes()}


def _prepare(folder: Path) -> dict[str, bytes]:
    (folder / "inner").mkdir(parents=True)
    for name, data in contents().items():
        (folder / name).write_bytes(data)
        (folder / f"link-{name}").symlink_to(name)
        os.link(folder / name, folder / f"hard-{name}")
    return dict(contents())


def _run(command: str, words: list[str], around: str, found: Surroundings) -> str:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / "here"
        before = _prepare(here)
        if "report/results.csv" in words:
            (here / "report").mkdir()
            (here / "report/results.csv").write_bytes(before["data.csv"])
            before["report/results.csv"] = before["data.csv"]
        ended = run(words, here, found)
        outcome = _judged(command, here, before, ended, nobody_reads=found.streams.get(1) == "|")
        says = 1 not in found.streams and (ended.code == 0 or 2 not in found.streams) and around not in _UNSAID
        if outcome == "fine" and ((not ended.said and says) or (ended.code == 0 and around == "onto")):
            outcome = "silent"  # it was told to write onto what it reads
        return _noted(outcome, command, around, words, ended)


@cache
def _seconds(command: str) -> float:
    """Return how long a command takes when nothing disturbs it."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / "here"
        _prepare(here)
        return run([command, *ARGUMENTS[command].split()], here, Surroundings()).seconds


def _interrupt(command: str, words: list[str], ending: str, share: float | None) -> str:
    """Send a signal after some share of a command's time, or as soon as there is a temporary file."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / "here"
        before = _prepare(here)
        seconds = _seconds(command)

        def disturb(process: int) -> None:
            if share is None:
                _wait(lambda: not is_running(process) or any(here.rglob("*.part")))
            else:
                time.sleep(share * seconds)
            os.kill(process, getattr(signal, ending))

        ended = run(words, here, Surroundings(), disturb)
        return _noted(_judged(command, here, before, ended), command, f"{ending} {share}", words, ended)


def _interrupt_whole(command: str, words: list[str], ending: str) -> str:
    """Send a signal to a new process while it imports what it needs."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / "here"
        before = _prepare(here)

        def disturb(process: int) -> None:
            for heeds in (True, False):  # Python catches Ctrl-C from its start, and we don't while we import
                _wait(lambda heeds=heeds: not is_running(process) or _heeds_ctrl_c(process) is heeds)
            os.kill(process, getattr(signal, ending))

        ended = run_whole(words, here, disturb)
        return _noted(_judged(command, here, before, ended), command, f"{ending} whole", words, ended)


def _heeds_ctrl_c(process: int) -> bool:
    """Whether a process catches it, as the system says."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    caught = next(int(line.split()[1], 16) for line in status if line.startswith("SigCgt:"))
    return bool(caught >> signal.SIGINT - 1 & 1)


def _noted(outcome: str, *facts: object) -> str:
    if outcome != "fine":
        print(outcome, *facts, file=sys.stderr)
    return outcome


def _wait(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready() and time.monotonic() < end:
        time.sleep(0.001)


def _judged(command: str, folder: Path, before: dict[str, bytes], ended: Ended, *, nobody_reads: bool = False) -> str:
    """Return what became of a folder and a process; what ends as Python does after a traceback is foreign."""
    if ended.code in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, 134, 139):
        return "abort"
    changed = {name for name, contents in before.items() if (folder / name).read_bytes() != contents}
    if changed - _CHANGED.get(command, set()) or any(path.name.endswith(".part") for path in folder.rglob("*")):
        return "lost"
    written = [path for path in folder.rglob("*") if path.is_file() and path.name not in before]
    if not all(is_whole(path) for path in [*written, *(folder / name for name in changed)]):
        return "lost"
    wrong = (120,) if nobody_reads else (1, 120)  # 1 is also for a reader who leaves
    return "foreign" if b"Traceback" in ended.said or ended.code in wrong else "fine"


def is_whole(path: Path) -> bool:
    """Whether a file that a command wrote is all there."""
    import auxcal

    data = path.read_bytes()
    if path.suffix == ".safetensors":
        try:
            auxcal.load(path)
        except auxcal.AuxcalError:
            return False
    if path.suffix == ".csv":
        return data.endswith(b"\n") and data.count(b"\n") >= 3
    return data.rstrip().endswith(b"</html>") if path.suffix == ".html" else bool(data)


os.environ.setdefault("OMP_NUM_THREADS", "1")
