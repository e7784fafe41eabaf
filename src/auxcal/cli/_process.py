"""The process of a command: signals, streams, and an exit code with one sentence for each expected error."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from auxcal._core.errors import AuxcalError
from auxcal.cli.output import discard, echo_error

_OUT_OF_MEMORY = ("failed to map segment", "annot allocate memory")  # in messages of the loader and of BLAS
USAGE = 2  # the exit code of a wrong call, as in click and in most shells


@contextmanager
def process() -> Iterator[None]:
    """Turn expected errors into one sentence and an exit code, and warnings into lines on standard error."""
    # Temporary files are removed at SIGTERM and SIGHUP too, which nohup ignores. Ctrl-C raises KeyboardInterrupt in the
    # block, where it is caught; outside, the entry point lets it kill.
    exiting = _handled(["SIGTERM", "SIGHUP"], _exit, lambda usual: usual is not signal.SIG_IGN)
    raising = _handled(["SIGINT"], signal.default_int_handler, lambda usual: usual is signal.SIG_DFL)
    with exiting, warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _echo_warning
        try:
            with raising:
                _prepare_streams()
                yield
                sys.stdout.flush()
        except KeyboardInterrupt:  # click sees it only while a command runs, not in imports
            _close_stdout()
            sys.exit(128 + signal.SIGINT)
        except BrokenPipeError:  # as `| head` leaves it
            _close_stdout()
            sys.exit(1)
        except Exception as error:
            if isinstance(error.__cause__, SystemExit | KeyboardInterrupt):  # Python 3.11 wraps it in `__set_name__`
                _close_stdout()
                sys.exit(getattr(error.__cause__, "code", 128 + signal.SIGINT))
            sentence = _sentence(error)
            if sentence is None:
                raise
            _close_stdout()
            echo_error(sentence)
            sys.exit(USAGE)


def _prepare_streams() -> None:
    """Reject a closed standard output, replace closed errors; escape characters that the terminal's encoding lacks."""
    if sys.stdout is None:
        raise OSError("standard output is closed. Send it somewhere, for instance to /dev/null.")
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  # NumPy's f2py wants one
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _handled(names: Sequence[str], handler: Callable[..., Any], where: Callable[[Any], bool]) -> Iterator[None]:
    """Handle these signals in the block, those alone whose handler so far is such a one."""
    before = {name: signal.getsignal(getattr(signal, name)) for name in names if hasattr(signal, name)}
    handled = {getattr(signal, name): usual for name, usual in before.items() if where(usual)}
    for number in handled:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, usual in handled.items():
            signal.signal(number, usual or signal.SIG_DFL)


def _exit(number: int, frame: Any) -> NoReturn:
    sys.exit(128 + number)


def _close_stdout() -> None:
    """Avoid a second BrokenPipeError at exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        discard(sys.stdout.fileno())


def _echo_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    echo_error(f"warning: {message}")


def _sentence(error: Exception) -> str | None:
    """Return the message of an expected error; None for a bug."""
    # Only some of click's errors are public, and their module has moved; all of them have this method.
    if hasattr(error, "format_message"):
        return str(error.format_message())
    if isinstance(error, MemoryError) or any(sign in str(error) for sign in _OUT_OF_MEMORY):
        return f"there is not enough memory ({error}). Give fewer rows at a time."
    return str(error) if isinstance(error, AuxcalError | OSError) else None
