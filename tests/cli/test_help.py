"""Help answers fast, teaches by example, and shows every command."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import auxcal
from auxcal import cli

COMMANDS = [command.__name__ for command in cli.COMMANDS]
HEAVY = "{'torch', 'sklearn', 'matplotlib', 'numpy', 'scipy', 'pandas', 'pyarrow', 'safetensors', 'jinja2'}"


@pytest.mark.needs("torch")  # which could be imported
def test_help_imports_nothing_heavy():
    code = (
        "import sys, auxcal.cli\n"
        f"for arguments in [[], *([name] for name in {COMMANDS})]:\n"
        "    try: auxcal.cli.app([*arguments, '--help'])\n"
        "    except SystemExit: pass\n"
        f"    print(arguments, sorted({HEAVY} & set(sys.modules)))\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.count("Usage:") == len(COMMANDS) + 1
    assert [line for line in answer.stdout.splitlines() if line.startswith("[") and not line.endswith("[]")] == []


def test_without_a_command_the_help_shows_all_of_them(call, capsys):
    assert call() == 0
    text = capsys.readouterr().out
    for name in COMMANDS:
        assert f"\n  {name} " in text
    assert "..." not in text.split("Fit:")[1]


def test_the_help_groups_commands_and_options(call, capsys):
    assert call("--help") == 0
    sections = [line for line in capsys.readouterr().out.splitlines() if re.fullmatch(r"\S.*:", line)]
    assert sections == ["Options:", "Fit:", "Judge:", "Watch:", "Label:", "Ship:", "The paper:"]
    assert call("score", "--help") == 0
    text = capsys.readouterr().out
    heads = ("Arguments:", "Options:", "The table:", "Output:", "General:")
    assert [line for line in text.splitlines() if line in heads] == [head for head in heads if head != "Options:"]
    table, output = text.split("The table:")[1].split("Output:")
    assert "--columns" in table
    assert "--metrics" in output


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "reproduce"])
def test_examples_keep_their_lines(name, call, capsys):
    assert call(name, "--help") == 0
    examples = capsys.readouterr().out.split("Examples:\n")[1].split("\n\n")[0].splitlines()
    assert len(examples) >= 2
    assert all(f"auxcal {name}" in line or "auxcal fit" in line for line in examples)


def test_commands_of_other_packages_are_added_and_broken_ones_break_no_other(command, tmp_path):
    described = tmp_path / "other-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    lines = [
        "[auxcal.commands]",
        "greet = other:greet",
        "broken = other:nothing",
        "gone = nowhere:gone",
        "fit = other:fit",
    ]
    (described / "entry_points.txt").write_text("\n".join(lines))
    (tmp_path / "other.py").write_text(
        'def greet():\n    """Greet."""\n    print("hello")\n\ndef fit():\n    """Mine."""\n'
    )
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {"env": os.environ | {"PYTHONPATH": paths}}
    assert command("greet", **environment).stdout == "hello\n"
    shown = command("--help", **environment)
    assert shown.returncode == 0
    assert "Mine." not in shown.stdout
    for name in ("broken", "gone"):
        assert f"\n  {name} " in shown.stdout
        called = command(name, **environment)
        assert called.returncode == 2
        assert re.fullmatch(f"auxcal: the command {name} can't be loaded from .* that it comes from.\n", called.stderr)


def test_the_version_is_said(call, capsys):
    assert call("--version") == 0
    assert capsys.readouterr().out == f"auxcal {auxcal.__version__}\n"


def test_the_shell_completes_commands_and_methods(command, monkeypatch):
    def completed(words):
        environment = {"_AUXCAL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        return command(env=os.environ | environment).stdout.split()

    assert completed("auxcal thr") == ["threshold"]
    assert completed("auxcal fit --method ccac") == ["ccac", "ccac-s", "ccac-x"]


@pytest.mark.parametrize("method", ["TS", "ts", "Temperature"])
def test_a_method_may_be_called_by_its_abbreviation(method, call, rows, tmp_path, capsys):
    np.savez(tmp_path / "logits.npz", logits=rows[0], y=rows[1])
    assert call("fit", tmp_path / "logits.npz", "--method", method, "-o", tmp_path / "ts.safetensors") == 0
    assert capsys.readouterr().out.startswith("TS fitted on")


def test_a_method_that_is_nearly_right_is_asked_about(call, rows, tmp_path, capsys):
    np.savez(tmp_path / "logits.npz", logits=rows[0], y=rows[1])
    assert call("fit", tmp_path / "logits.npz", "--method", "temprature", "-o", tmp_path / "ts.safetensors") == 2
    assert "got 'temprature' (did you mean 'temperature'?)" in capsys.readouterr().err
