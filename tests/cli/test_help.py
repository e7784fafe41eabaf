"""Help answers fast, teaches by example, and shows every command."""

import subprocess
import sys

import pytest

from auxcal import cli

COMMANDS = [command.__name__ for command in cli.COMMANDS]
HEAVY = "{'torch', 'sklearn', 'matplotlib', 'numpy', 'scipy', 'pandas', 'pyarrow', 'safetensors', 'jinja2'}"


@pytest.mark.parametrize("arguments", [[], *([name] for name in COMMANDS)], ids=["auxcal", *COMMANDS])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys, auxcal.cli\n"
        f"try: auxcal.cli.app([*{arguments}, '--help'])\n"
        "except SystemExit: pass\n"
        f"print(sorted({HEAVY} & set(sys.modules)))\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Usage:" in answer.stdout
    assert answer.stdout.splitlines()[-1] == "[]"


def test_without_a_command_the_help_shows_all_of_them(call, capsys):
    assert call() == 0
    text = capsys.readouterr().out
    for name in COMMANDS:
        assert f"\n  {name} " in text
    assert "..." not in text.split("Commands:")[1]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "reproduce"])
def test_examples_keep_their_lines(name, call, capsys):
    assert call(name, "--help") == 0
    examples = capsys.readouterr().out.split("Examples:\n")[1].split("\n\n")[0].splitlines()
    assert len(examples) >= 2
    assert all(f"auxcal {name}" in line or "auxcal fit" in line for line in examples)
