"""What every command gives for every format is what it gave when `tests/golden/commands.json` was made.

After a change that is meant, `python tests/golden/make_commands.py` makes it again.

Processors round differently. New rows' confidences differ by less than 1e-5 for that (tests/test_kernels.py), and what
is computed from them, by a sum over rows or by a bound, by some ten times as much: so numbers may differ by `NEAR`. In
a sentence a number is rounded, and may differ by one unit of its last digit. Networks take thousands of steps, each of
which rounds (benchmarks/evidence/processors.py): what they give may differ by `NEAR_OF_NETWORKS`.
"""

import math
import re
from itertools import zip_longest

import pytest

from ..golden import make_commands as golden

NEAR, NEAR_OF_NETWORKS = 1e-4, 0.02  # relative, and absolute
LARGE = 1e6  # evidence, a product over rows, whose relative errors add up: it may differ by ten times as much
MOST = 20  # differences that are shown
_ROUNDED = re.compile(r"\d+\.\d+|\d+(?= ?%)")  # other numbers in sentences are counts, dates and names
_FLOAT = re.compile(r"-?\d+\.\d{7,}(e-?\d+)?")  # as a table has it, in all digits
FROZEN = golden.read()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.needs(each) for each in case.needs]) for name, case in golden.CASES.items()],
)
def test_a_command_gives_what_it_gave(name, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # so that the case's own is undone
    found, expected = golden.run_case(name, tmp_path), FROZEN[name]
    assert [given["step"] for given in found] == [given["step"] for given in expected], "make commands.json again"
    told = [
        f"auxcal {given['step']}\n    {difference}"
        for before, given in zip(expected, found, strict=True)
        for difference in differences(before, given, "", NEAR_OF_NETWORKS if name == "transfer" else NEAR)
    ]
    more = [f"and {len(told) - MOST} more"] if len(told) > MOST else []
    assert not told, "\n" + "\n".join(told[:MOST] + more)


def differences(before, now, place, tolerance):
    """Yield where two results differ, and how."""
    if isinstance(before, dict) and isinstance(now, dict):
        if list(before) != list(now) and set(before) == set(now):
            yield f"{place or 'fields'}: the order was {', '.join(before)}; it is {', '.join(now)}"
        for name in before | now:
            where = f"{place} › {name}" if place else name
            if name not in now:
                yield f"{where}: is missing; it was {short(before[name])}"
            elif name not in before:
                yield f"{where}: is new: {short(now[name])}"
            else:
                yield from differences(before[name], now[name], where, tolerance)
    elif isinstance(before, list) and isinstance(now, list):
        if len(before) != len(now):
            yield f"{place}: had {len(before)} entries; it has {len(now)}"
        for index, (one, other) in enumerate(zip_longest(before, now)):
            yield from differences(one, other, f"{place}[{index}]", tolerance)
    elif not near(before, now, tolerance):
        yield f"{place}: was {short(before)}; it is {short(now)}"


def near(before, now, tolerance=NEAR):
    """Whether two values are the same up to how a processor rounds."""
    if isinstance(before, float) and isinstance(now, float):
        more = 10 if min(before, now) > LARGE else 1
        return math.isclose(before, now, rel_tol=more * tolerance, abs_tol=tolerance)
    if isinstance(before, str) and isinstance(now, str):
        if all(_FLOAT.fullmatch(each) for each in (before, now)):
            return near(float(before), float(now), tolerance)
        numbers = zip(_ROUNDED.findall(before), _ROUNDED.findall(now), strict=False)
        return _ROUNDED.split(before) == _ROUNDED.split(now) and all(one_unit(*both) for both in numbers)
    return type(before) is type(now) and before == now


def one_unit(before, now):
    """Whether two printed numbers differ by one unit of the last digit of the shorter one, at most."""
    decimals = min(len(each.partition(".")[2]) for each in (before, now))
    return abs(float(before) - float(now)) < 1.5 * 10.0**-decimals


def short(value):
    text = golden.line(value)
    return text if len(text) <= 300 else f"{text[:300]} …"


@pytest.mark.parametrize(
    ("before", "now"),
    [("12.3 % of 40 rows", "12.4 % of 40 rows"), ("risk 9 %", "risk 10 %"), (0.5, 0.50004), ("0.31", "0.3125")],
)
def test_rounding_is_no_difference(before, now):
    assert near(before, now)


@pytest.mark.parametrize(
    ("before", "now"),
    [("12.3 % of 40 rows", "12.5 % of 40 rows"), ("40 rows", "41 rows"), (0.5, 0.5002), (40, 41), (1, True), (1, "1")],
)
def test_more_than_rounding_is_a_difference(before, now):
    assert not near(before, now)


def test_every_command_is_frozen():
    commands = {step.split()[0] for case in golden.CASES.values() for step in case.steps}
    from auxcal.cli import COMMANDS

    assert {each.__name__ for each in COMMANDS} - commands == {"demo", "reproduce"}  # which take minutes
