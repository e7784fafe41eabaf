"""What `auxcal_paper.shifts` gives, and what importing it costs."""

import subprocess
import sys

import pytest

from auxcal_paper import shifts


def test_every_public_name_is_there():
    assert shifts.__all__ == ["Augment", "DeepFool", "Mixture", "TextNoise"]
    assert all(getattr(shifts, name).__name__ == name for name in shifts.__all__)
    with pytest.raises(AttributeError, match="Blur"):
        _ = shifts.Blur


def test_importing_it_imports_neither_torch_nor_foolbox():
    code = "import sys, auxcal_paper.shifts; print({'torch', 'foolbox', 'scipy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
