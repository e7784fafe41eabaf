"""Packages that only some users have."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from auxcal._errors import MissingExtraError


def import_extra(module: str, package: str, extra: str = "experiments") -> Any:
    """Import a module of an optional package, or raise an error that names the install command.

    Examples
    --------
    >>> from auxcal._extras import import_extra
    >>> import_extra("no_such_module", "no-such-package")
    Traceback (most recent call last):
    auxcal._errors.MissingExtraError: this needs the package no-such-package. Install it with: ...
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # what it has still to change is not our user's concern
            return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f'this needs the package {package}. Install it with: pip install "auxcal[{extra}]" ({error}).'
        ) from error
