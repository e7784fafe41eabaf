"""auxcal methods: the list of methods."""

import auxcal
from auxcal._core.text import first_line
from auxcal.cli._options import Json
from auxcal.cli.output import echo_result


def methods(json: Json = False) -> None:
    """List the methods, one per line: name, what it does, where it comes from, whether it uses features.

    Examples
    --------
    auxcal methods
    auxcal methods --json
    """
    found = [
        {
            "method": name,
            "abbreviation": kind.abbreviation,
            "what": first_line(kind, kind.abbreviation),
            "reference": kind.reference,
            "uses_features": kind.uses_features,
        }
        for name, kind in auxcal.CALIBRATORS.items()
    ]
    name, short = (max(len(str(each[key])) for each in found) for key in ("method", "abbreviation"))
    lines = (
        f"{each['method']:<{name}}  {each['abbreviation']:<{short}}  {each['what']} "
        f"({each['reference']}{'; uses features' if each['uses_features'] else ''})"
        for each in found
    )
    echo_result(found, lines, json=json)
