"""Available memory, for work that knows beforehand how much it needs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from auxcal._core.deferred_warnings import warn
from auxcal._core.errors import AuxcalWarning, InvalidInputError

WARN_ABOVE_BYTES = 2 * 10**9  # what a laptop has to spare; a convention
_CONTROL_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


_OTHER_METHOD = "Use a method that takes less, such as CCAC-X or structured vector scaling."


def check_memory(n_bytes: float, what: str, instead: str = _OTHER_METHOD) -> None:
    """Reject what needs more memory than there is, and warn of what needs much."""
    there = _available()
    if there is not None and n_bytes > there:
        raise InvalidInputError(
            f"{what} takes some {n_bytes / 1e9:.3g} GB of memory, and there are {there / 1e9:.3g} GB. {instead}"
        )
    if n_bytes > WARN_ABOVE_BYTES:
        warn(f"{what} takes some {n_bytes / 1e9:.3g} GB of memory.", AuxcalWarning, stacklevel=2)


def _available() -> int | None:
    """Return how many bytes can be had: of the machine, of the container, of the process; None if unknown."""
    limits = [_of_process()]
    with suppress(OSError, KeyError, ValueError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits.append(1024 * int(dict(line.split(":", 1) for line in lines)["MemAvailable"].split()[0]))
    for names in _CONTROL_GROUPS:  # of Linux, in either of its versions
        with suppress(OSError, ValueError):  # there is none, or its limit is "max"
            most, now = (int(Path(name).read_text(encoding="ascii")) for name in names)
            limits.append(max(most - now, 0))
    return min((there for there in limits if there is not None), default=None)


def _of_process() -> int | None:
    """Return what `ulimit -v` leaves."""
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return None if most == resource.RLIM_INFINITY else max(most - pages * resource.getpagesize(), 0)
    except (ImportError, OSError, ValueError):  # as on Windows
        return None
