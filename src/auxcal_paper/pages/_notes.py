"""Hand-written notes: why a claim of the paper does not hold."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from typing import Any


def notes_on(suite: str, shift: str, failed: Collection[str]) -> list[str]:
    """Return the notes of ``notes.toml`` on a suite and a shift that name one of the claims that failed."""
    return [
        note["text"]
        for note in all_notes()
        if suite in note["suites"] and shift in note["shifts"] and not set(failed).isdisjoint(note["claims"])
    ]


@cache
def all_notes() -> tuple[dict[str, Any], ...]:
    """Return every note: the suites, shifts and claims that it is about, and its text."""
    text = files("auxcal_paper.pages").joinpath("notes.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["note"])
