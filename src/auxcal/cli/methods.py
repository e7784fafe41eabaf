"""auxcal methods: the list of methods."""

from __future__ import annotations

from auxcal._core.text import first_line
from auxcal.cli._options import Json
from auxcal.cli.output import echo, echo_json


def methods(json: Json = False) -> None:
    """List the methods, one per line: name, what it does, where it comes from, whether it uses features.

    Examples
    --------
    auxcal methods
    auxcal methods --json
    """
    from auxcal.calibrators import CALIBRATORS

    found = [
        {
            "method": name,
            "abbreviation": kind.abbreviation,
            "what": first_line(kind, kind.abbreviation),
            "reference": kind.reference,
            "uses_features": kind.uses_features,
        }
        for name, kind in CALIBRATORS.items()
    ]
    if json:
        echo_json(found)
        return
    widths = {key: max(len(str(method[key])) for method in found) for key in ("method", "abbreviation")}
    for method in found:
        columns = (f"{method[key]:<{width}}" for key, width in widths.items())
        features = "; uses features" if method["uses_features"] else ""
        echo(f"{'  '.join(columns)}  {method['what']} ({method['reference']}{features})")
