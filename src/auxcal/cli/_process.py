"""The process that a command runs in: what ends it, and the streams that it has."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from auxcal._core.errors import AuxcalError
from auxcal._core.text import visible

_NO_ROOM = ("failed to map segment", "annot allocate memory")  # what libraries say that can't be loaded for want of it
USAGE = 2  # the exit code of a command that can't do what it is asked


@contextmanager
def process() -> Iterator[None]:
    """Give a context in which what is expected to go wrong is one sentence and an exit code."""
    with _ended_in_order(), warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _say_warning
        try:
            with _heeding_ctrl_c():
                _open_streams()
                yield
                sys.stdout.flush()
        except KeyboardInterrupt:  # where the library of the command line does not see it, as in imports
            _say_no_more()
            sys.exit(128 + signal.SIGINT)
        except BrokenPipeError:  # whoever read the output has had enough of it
            _say_no_more()
            sys.exit(1)
        except Exception as error:
            sentence = _sentence(error)
            if sentence is None:
                raise
            _say_no_more()
            _complain(sentence)
            sys.exit(USAGE)


def _open_streams() -> None:
    """Refuse to work where nobody can be told, and let no character be one that the terminal can't show."""
    if sys.stdout is None:
        raise OSError("standard output is closed. Send it somewhere, for instance to /dev/null.")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _heeding_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt here alone, if it ends the process before and after: nobody would catch it."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Let what ends a process run what is to be done before: temporary files are removed."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    heeded = [number for number in numbers if before[number] is not signal.SIG_IGN]  # as under nohup
    for number in heeded:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number] or signal.SIG_DFL)


def _end(number: int, frame: Any) -> NoReturn:
    sys.exit(128 + number)


def _say_no_more() -> None:
    """Let Python not fail once more, at its end, over what could not be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _complain(f"warning: {message}")


def _complain(sentence: str) -> None:
    try:
        typer.echo(visible(f"auxcal: {' '.join(sentence.split())}"), err=True)
    except OSError:  # nobody listens: the exit code is all that is left
        if sys.stderr is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _sentence(error: Exception) -> str | None:
    """Return what to tell the user about an expected error; None for a bug."""
    # Of the errors of the command line only some are public, and their module has moved; all of them have this method.
    if hasattr(error, "format_message"):
        return str(error.format_message())
    if isinstance(error, MemoryError) or any(sign in str(error) for sign in _NO_ROOM):
        return f"there is not enough memory ({error}). Give fewer rows at a time."
    return str(error) if isinstance(error, AuxcalError | OSError) else None
