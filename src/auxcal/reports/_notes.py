"""Hand-written sentences: why a claim of the paper does not hold where it does not."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files


def note(suite: str, shift: str, claim: str) -> str:
    """Return the sentence for a claim, or an empty one; they are in ``notes.toml``."""
    return _notes().get(suite, {}).get(shift, {}).get(claim, "")


@cache
def _notes() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads(files("auxcal.reports").joinpath("notes.toml").read_text(encoding="utf-8"))
