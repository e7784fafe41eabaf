"""What `auxcal_paper.shifts` gives, and what importing it costs."""

import subprocess
import sys


def test_importing_it_imports_neither_torch_nor_foolbox():
    code = "import sys, auxcal_paper.shifts; print({'torch', 'foolbox', 'scipy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
