"""Every command that writes, with an I/O error at each of its calls, inputs that vanish, and too little memory.

Whatever fails, what was there is whole: each file is the old one or the new one, and those that belong together are of
one kind. No temporary file stays, the error is one sentence, and the same command works afterwards.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import resource
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.attack.commands import ARGUMENTS, contents, is_whole
from benchmarks.attack.numbers import Case, train_quickly
from benchmarks.attack.surroundings import Ended, Surroundings, preload, run

WRITING = {
    command: f"{command} {words}"
    for command, words in ARGUMENTS.items()
    if any(option in words for option in ("-o ", "--out ", "--save "))
}
"""The commands that write a file."""

_MORE = {
    "score into .npz": "score cal.safetensors data.csv -o scored.npz",
    "score into .parquet": "score cal.safetensors data.csv -o scored.parquet",
    "score into .safetensors": "score cal.safetensors numbers.csv -o scored.safetensors",
    "score into a folder": "score cal.safetensors parts -o scored",
    "fit signals": "fit answers.csv --signals score,topic --correct right -o new.safetensors",
    "score signals": "score signals.safetensors answers.csv -o scored.csv",
}
_CALLS = ("open", "close", "fsync", "chmod", "mkdir", "link", "rename", "replace", "unlink", "rmdir", "scandir")
_BEFORE_UNLINK = ("replace", "close a file")  # after which a temporary file is removed, which can fail too
_READING = ("open a file", "scandir")
_MEGABYTE = 2**20
_ROOM = (1, 4, 16, 40, 64, 100, 160, 250, 400)  # megabytes beside those that the imports take
_ROOM_FOR_ARROW = 4  # which ends the process itself where it has less to write parquet
_TIMED = ("report",)
_OLD = b"an older output\n"
_FINISHED = "_SUCCESS"  # without which a folder of parts is not whole, and may have old and new ones


def cases() -> Iterator[tuple[str, Case]]:
    """Give the attacks on every command that writes."""
    preload()
    train_quickly()
    for name, arguments in (WRITING | _MORE).items():
        for old in (False, True):
            words = [*arguments.split(), *(["--overwrite"] if old and not arguments.startswith("threshold") else [])]
            attacked = partial(_run, words, expected=_made(arguments), older=_older(arguments) if old else {})
            on = " on an old output" if old else ""
            for said, fault in _faults(_calls(words, _older(arguments) if old else {})):
                yield f"{name}{on}: {said}", partial(attacked, Surroundings(prepare=fault))
        attacked = partial(_run, arguments.split(), expected=_made(arguments), older={})
        for room in (each for each in _ROOM if "parquet" not in arguments or each >= _ROOM_FOR_ARROW):
            limited = Surroundings(prepare=partial(_limit, room * _MEGABYTE))
            yield f"{name}: {room} MB of memory", partial(attacked, limited)


def _faults(calls: Counter[str]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Give what goes wrong: each call once, and at each one that opens a file the inputs are gone."""
    for call, count in calls.items():
        for place in range(count):
            said = f"{call} {place + 1} of {count}"
            yield said, partial(_inject, call, place)
            if call in _BEFORE_UNLINK:
                yield f"{said} and an unlink", partial(_inject, call, place, "unlink")
            if call in _READING:
                yield f"inputs vanish at {said}", partial(_vanish, call, place)


def _run(words: list[str], found: Surroundings, *, expected: dict[str, bytes], older: dict[str, bytes]) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "here"
        before = _prepare(folder, older)
        ended = run(words, folder, found)
        _bring_back(folder)
        outcome = _judged(folder, before, expected, ended)
        if outcome == "fine" and ended.code:
            again = run(words, folder, Surroundings())
            if again.code or not _are_there(folder, expected):
                outcome, ended = "lost", again
        if outcome != "fine":
            print(outcome, words, ended, _files(folder).keys() - before.keys(), file=sys.stderr)
        return outcome


def _judged(folder: Path, before: dict[str, bytes], expected: dict[str, bytes], ended: Ended) -> str:
    if ended.code in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, 134, 139):
        return "abort"
    after = _files(folder)
    changed = {name for name in before | after if after.get(name) != before.get(name)}
    unfinished = {name for name in expected if name.endswith(_FINISHED) and name not in after}
    whole = all(_is_new(folder / name, expected.get(name)) for name in changed - unfinished)
    together = not changed or unfinished or _are_there(folder, expected)
    if not whole or not together or any(name.endswith(".part") for name in after):
        return "lost"
    if not ended.code and not _are_there(folder, expected):
        return "silent"
    return "foreign" if ended.code not in (0, 2) or b"Traceback" in ended.said or b"ignored" in ended.said else "fine"


def _are_there(folder: Path, expected: dict[str, bytes]) -> bool:
    return all(_is_new(folder / name, data) for name, data in expected.items())


def _is_new(path: Path, expected: bytes | None) -> bool:
    """Whether a file is what a command writes; a report says how long it took, and a record when."""
    if expected is None or not path.exists():
        return False
    return path.read_bytes() == expected or ((path.parent.name in _TIMED or _is_record(path.name)) and is_whole(path))


def _is_record(name: str) -> bool:
    """Whether a file says how far a run has got."""
    return name.endswith("_auxcal.json")


def _is_resumed(expected: dict[str, bytes]) -> bool:
    """Whether the output is a folder of parts, which appear one by one."""
    return any(map(_is_record, expected))


@cache
def _made(arguments: str, *, of_fewer_rows: bool = False) -> dict[str, bytes]:
    """Return the files that a command makes or changes when nothing fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "here"
        before = _prepare(folder, {}, of_fewer_rows=of_fewer_rows)
        ended = run(arguments.split(), folder, Surroundings())
        if ended.code:
            raise RuntimeError(f"{arguments} can't be attacked: {ended.said.decode()}")
        return {path: data for path, data in _files(folder).items() if before.get(path) != data}


def _older(arguments: str) -> dict[str, bytes]:
    """Return outputs to be replaced: any files, or a folder that was scored before."""
    made = _made(arguments)
    return _made(arguments, of_fewer_rows=True) if _is_resumed(made) else dict.fromkeys(made, _OLD)


def _calls(words: list[str], older: dict[str, bytes]) -> Counter[str]:
    """Return how often a command makes each call."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "here"
        _prepare(folder, older)
        noted = Path(name) / "calls"
        ended = run(words, folder, Surroundings(prepare=partial(_note, noted)))
        if ended.code:
            raise RuntimeError(f"{' '.join(words)} can't be attacked: {ended.said.decode()}")
        return Counter(noted.read_text().splitlines())


@cache
def _inputs(*, of_fewer_rows: bool = False) -> dict[str, bytes]:
    """Return what a folder begins with, and the parts of a table."""
    found = dict(contents())
    rows = found["data.csv"].decode().splitlines()[: 100 if of_fewer_rows else None]
    found["numbers.csv"] = "".join(f"{row.rpartition(',')[0]}\n" for row in rows).encode()
    for place, start in enumerate((1, 41, 81)):
        found[f"parts/{place}.csv"] = "\n".join([rows[0], *rows[start : start + 40], ""]).encode()
    return found


def _prepare(folder: Path, older: dict[str, bytes], *, of_fewer_rows: bool = False) -> dict[str, bytes]:
    """Fill a folder, with older outputs if there are some; return what is in it."""
    found = older | _inputs(of_fewer_rows=of_fewer_rows)
    folder.mkdir()
    for name, data in found.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
        os.utime(folder / name, (0, 0))  # which the record of a folder keeps
    return found


def _bring_back(folder: Path) -> None:
    """Write the inputs that have vanished."""
    for name, data in _inputs().items():
        if not (folder / name).exists():
            (folder / name).write_bytes(data)
            os.utime(folder / name, (0, 0))


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# In the process of the command ----------------------------------------------------------------------------------------


def _note(path: Path) -> None:
    """Note each call in a file."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    note = os.write
    _watch(lambda call: note(file, f"{call}\n".encode()))


def _inject(call: str, place: int, after: str | None = None) -> None:
    """Let one call fail, and the next one of another kind after it."""
    seen: Counter[str] = Counter()
    to_fail = [(call, place + 1)]

    def count(found: str) -> None:
        seen[found] += 1
        if to_fail and (found, seen[found]) == to_fail[0]:
            to_fail[:] = [(after, seen[after] + 1)] if after and found != after else []
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    _watch(count)


def _vanish(call: str, place: int) -> None:
    """Remove what is read before one call."""
    seen: Counter[str] = Counter()
    there = [path for name in _inputs() if (path := Path(name).absolute()).exists()]
    remove = os.unlink

    def count(found: str) -> None:
        seen[found] += 1
        if found == call and seen[found] == place + 1:
            for path in there:
                remove(path)

    _watch(count)


def _watch(called: Callable[[str], Any]) -> None:
    """Call a function before every call, and after a file is closed, as the system reports what it could not write."""
    for name in _CALLS:
        setattr(os, name, partial(_called, called, name, getattr(os, name)))
    opened, here = io.open, Path.cwd()

    def open_file(file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **options: Any) -> Any:
        writes = bool(set(mode) & set("wax+"))
        if writes or (not isinstance(file, int) and Path(file).resolve().is_relative_to(here)):
            called("open a file")
        if isinstance(file, int) or not writes:
            return opened(file, mode, buffering, *rest, **options)
        raw = _File(file, mode.replace("b", "").replace("t", ""))
        raw.called = called
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *rest, **options)

    io.open = builtins.open = open_file


def _called(called: Callable[[str], Any], name: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    if name != "close":
        called(name)
        return call(*arguments, **options)
    call(*arguments)
    return called(name)


class _File(io.FileIO):
    """A file that says what is done with it."""

    called: Callable[[str], Any]

    def write(self, data: Any) -> int:
        self.called("write")
        return super().write(data)

    def flush(self) -> None:
        if not self.closed:
            self.called("flush")
        super().flush()

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        self.called("close a file")


def _limit(room: int) -> None:
    """Leave the process some memory beside what it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + room
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


os.environ["SOURCE_DATE_EPOCH"] = "0"
