"""Run some attacks of a group, and print a line before and after each of them: whoever reads sees where it ended."""

from __future__ import annotations

import sys
import traceback
import warnings
from importlib import import_module


def main(group: str, skip: int, every: int, share: int, shares: int) -> None:
    """Run every so many attacks of a group, one share of them, without the first ones, which are done."""
    from auxcal import AuxcalError, AuxcalWarning

    for number, (name, case) in enumerate(import_module(f"benchmarks.attack.{group}").cases()):
        if number < skip or number % every or number // every % shares != share:
            continue
        print(f"begin\t{number}\t{name!r}", flush=True)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                outcome = case()
            if outcome == "fine" and not all(issubclass(each.category, AuxcalWarning) for each in caught):
                outcome = "foreign"  # another library's warning says nothing of what to do
                print(name, [str(each.message) for each in caught], file=sys.stderr)
        except AuxcalError as error:
            outcome = "fine" if str(error) else "foreign"
        except Exception:
            outcome = "foreign"
            print(name, traceback.format_exc(limit=-3), file=sys.stderr)
        print(f"end\t{number}\t{outcome}", flush=True)
    print(f"all\t{number + 1}\t", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
