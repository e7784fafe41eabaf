"""What every command gives for every format is what it gave when `tests/golden/commands.json` was made.

After a change that is meant, `python tests/golden/make_commands.py` makes it again.
"""

import math
from itertools import zip_longest

import pytest

from ..golden import make_commands as golden

FROZEN = golden.read()
HERE = golden.made_with()
EXACT = all(FROZEN["made_with"].get(name) == version for name, version in HERE.items())
"""Whether the last bits must be the same: the libraries that add numbers up are those of the frozen results."""
NEAR = 1e-3  # of what another library of linear algebra may make of the last bits
MOST = 20  # differences that are shown


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.needs(each) for each in case.needs]) for name, case in golden.CASES.items()],
)
def test_a_command_gives_what_it_gave(name, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # so that the case's own is undone
    found, columns = golden.run_case(name, tmp_path)
    expected = FROZEN["cases"][name]
    assert [given["step"] for given in found] == [given["step"] for given in expected], "make commands.json again"
    held = FROZEN["columns"] | columns
    drawn = held if EXACT else {key: [rows, []] for key, (rows, *_) in held.items()}  # by the last bits: only how many
    told = [
        f"{given['step']}\n    {difference}"
        for before, given in zip(expected, found, strict=True)
        for difference in differences(before, given, "", drawn if given["step"].startswith("pick ") else held)
    ]
    more = [f"and {len(told) - MOST} more"] if len(told) > MOST else []
    assert not told, "\n" + "\n".join(["auxcal " + each for each in told[:MOST]] + more)


def differences(before, now, place, columns):
    """Yield where two results differ, and how."""
    if before == now:
        return
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
                yield from differences(before[name], now[name], where, columns)
    elif isinstance(before, list) and isinstance(now, list):
        if len(before) != len(now):
            yield f"{place}: had {len(before)} entries; it has {len(now)}"
        for index, (one, other) in enumerate(zip_longest(before, now)):
            yield from differences(one, other, f"{place}[{index}]", columns)
    elif is_column(before, columns) and is_column(now, columns):
        (kind, key), (kind_now, key_now) = before.rsplit(" ", 1), now.rsplit(" ", 1)
        if kind != kind_now or EXACT or not near(columns[key], columns[key_now]):
            yield f"{place}: was {told_column(kind, columns[key])}; it is {told_column(kind_now, columns[key_now])}"
    elif EXACT or not near(before, now):
        yield f"{place}: was {short(before)}; it is {short(now)}"


def told_column(kind, column):
    """Say what is kept of a column; where that is the same, a later row differs."""
    rows, *size, first = column
    return f"{kind}, {rows} rows, {', '.join(map(golden.line, first))}, …, sum and rows without a number {size}"


def is_column(value, columns):
    """Whether a value is the type and the digest of a column."""
    return isinstance(value, str) and " " in value and value.rsplit(" ", 1)[1] in columns


def near(before, now):
    """Whether two values are the same up to the order in which numbers are added; digests can't tell."""
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(near, before, now))
    if isinstance(before, str) and isinstance(now, str) and len(before.split()) == len(now.split()) > 3:
        # A tensor: its type, shape, digest and size.
        (*kind, _, size), (*kind_now, _, size_now) = before.split(), now.split()
        return kind == kind_now and near(size, size_now)
    one, other = golden.number_of(before), golden.number_of(now)
    if one is None or other is None or isinstance(before, bool):
        return before == now or is_digest(before, now)
    return math.isclose(one, other, rel_tol=NEAR, abs_tol=NEAR)


def is_digest(before, now):
    return all(
        isinstance(each, str) and len(each) == golden.DIGEST and int_of(each) is not None for each in (before, now)
    )


def int_of(text):
    try:
        return int(text, 16)
    except ValueError:
        return None


def short(value):
    text = golden.line(value)
    return text if len(text) <= 300 else f"{text[:300]} …"


def test_every_command_is_frozen():
    commands = {step.split()[0] for case in golden.CASES.values() for step in case.steps}
    from auxcal.cli import COMMANDS

    assert {each.__name__ for each in COMMANDS} - commands == {"demo", "reproduce"}  # which take minutes
