"""Modules of the extras, for tests that skip themselves where these are not installed."""

import pytest


class Extra:
    """A module that is imported when it is first used; where it is missing, the test is skipped."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        if name.startswith("_"):  # pytest itself looks for such
            raise AttributeError(name)
        return getattr(pytest.importorskip(self._module), name)


pa, pq, arrow_csv, torch = map(Extra, ("pyarrow", "pyarrow.parquet", "pyarrow.csv", "torch"))
