"""Runs of a command in surroundings that are not as they should be, each in a process of its own.

A process is a copy of the worker, which has imported everything: a new Python for each of hundreds of runs would take
longer than what is attacked. A few runs of each command are whole processes, since imports can be interrupted too.
"""

from __future__ import annotations

import io
import os
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, NamedTuple, NoReturn

PATIENCE = 120  # seconds
_IMPORTED = (
    "torch",
    "torch._dynamo",
    "onnx",
    "pyarrow.csv",
    "pyarrow.parquet",
    "rich.console",
    "scipy.optimize",
    "sklearn.base",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
)


@dataclass(frozen=True)
class Surroundings:
    """What a process finds: streams by descriptor, closed where None, its environment, its limits, its folder.

    `prepare` is called in the process, before the command.
    """

    streams: dict[int, str | None] = field(default_factory=dict)
    environment: dict[str, str | None] = field(default_factory=dict)
    limits: dict[int, int] = field(default_factory=dict)
    folder_is_gone: bool = False
    prepare: Callable[[], Any] | None = None


class Ended(NamedTuple):
    """How a process ended, what it said, and after how many seconds."""

    code: int
    said: bytes
    seconds: float


def preload() -> None:
    """Import what commands import, so that copies of this process have it."""
    for name in _IMPORTED:
        if find_spec(name.partition(".")[0]):
            import_module(name)
    for module in walk_packages(import_module("auxcal").__path__, "auxcal."):
        if not re.search(r"\.(spark|ray|testing)", module.name):  # engines start processes of their own
            import_module(module.name)


def run(words: list[str], folder: Path, found: Surroundings, disturb: Callable[[int], Any] | None = None) -> Ended:
    """Run a command in a copy of this process; `disturb` is called with its id while it runs."""
    said, (reading, writing) = folder.with_name(f"{folder.name}-said"), os.pipe()
    process = os.fork()
    if not process:
        os.close(reading)
        _be(words, folder, found, said, writing)
    os.close(writing)
    os.read(reading, 1)  # until it is ready
    os.close(reading)
    began = time.monotonic()
    if disturb is not None:
        disturb(process)
    code = wait_for(process)
    output = said.read_bytes() if said.exists() else b""
    said.unlink(missing_ok=True)
    return Ended(code, output, time.monotonic() - began)


def run_whole(words: list[str], folder: Path, disturb: Callable[[int], Any] | None = None) -> Ended:
    """Run a command as a new process."""
    program = [sys.executable, "-m", "auxcal", *words]
    began = time.monotonic()
    with subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        if disturb is not None:
            disturb(process.pid)
        try:
            said, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return Ended(process.returncode, said, time.monotonic() - began)


def wait_for(process: int) -> int:
    """Return the exit code of a child; one that does not end is killed, and an error says so."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    raise subprocess.TimeoutExpired("auxcal", PATIENCE)


def is_running(process: int) -> bool:
    """Whether a child has not ended yet; it is left to be waited for."""
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _be(words: list[str], folder: Path, found: Surroundings, said: Path, ready: int) -> NoReturn:
    """Become the command, as a new Python would be it."""
    code = 1
    try:
        _find(folder, found, said)
        sys.argv = ["auxcal", *words]
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # what comes before the command is not attacked
        main = import_module("auxcal.__main__").main
        os.close(ready)
        if found.prepare is not None:
            found.prepare()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = _code_of(main)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(_closed(code))


def _find(folder: Path, found: Surroundings, said: Path) -> None:
    everything = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(everything, 1)
    os.dup2(everything, 2)
    for number, place in found.streams.items():
        if place is None:
            os.close(number)
        elif place == "|":
            reading, writing = os.pipe()
            os.close(reading)
            os.dup2(writing, number)
        else:
            os.dup2(os.open(place, os.O_RDWR), number)
    for name, value in found.environment.items():
        os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
    coding = os.environ.get("PYTHONIOENCODING", "utf-8")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        is_open = number not in found.streams or found.streams[number] is not None
        mode, errors = ("rb", "strict") if number == 0 else ("wb", "backslashreplace" if number == 2 else "strict")
        stream = io.TextIOWrapper(open(number, mode, closefd=False), coding, errors) if is_open else None  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if found.folder_is_gone:
        (folder / "gone").mkdir()
        os.chdir(folder / "gone")
        (folder / "gone").rmdir()
    for limit, most in found.limits.items():
        resource.setrlimit(limit, (most, most))


def _code_of(main: Callable[[], None]) -> int:
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _closed(code: int) -> int:
    """Write what is left, as Python does at its end, and complain as it does where that fails."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except BaseException:
        os.write(2, b"Traceback at the end of the process\n")
        return 120
    return code
