"""A progress bar is there for whoever waits, and for nobody else."""

from io import StringIO

import pytest
from rich.console import Console

from auxcal._core import progress as _progress
from auxcal._core.progress import progress_bar


@pytest.fixture
def console(monkeypatch):
    text = StringIO()

    def make(terminal):
        monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
        monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=text, force_terminal=terminal))
        return text

    return make


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.usefixtures("impatient")
def test_it_is_shown_on_a_terminal_only(terminal, console):
    text = console(terminal)
    with progress_bar("scoring") as report:
        report(0.5)
    assert ("scoring" in text.getvalue()) == terminal


def test_what_is_quick_shows_nothing(console, monkeypatch):
    text = console(True)
    monkeypatch.setattr(_progress, "PATIENCE", 600)
    with progress_bar("scoring") as report:
        report(0.5)
    assert "scoring" not in text.getvalue()
