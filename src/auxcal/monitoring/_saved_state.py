"""What is read from a file must look like what a monitor would write: nothing half right goes on."""

from __future__ import annotations

from typing import Any, get_args

from auxcal._core.state import check_count, check_like
from auxcal.monitoring._alarm import AlarmKind

_SIGNED = "state.labels.doubt"  # of all that a monitor saves, only this may be below 0


def check_state(state: Any, fresh: dict[str, Any]) -> None:
    """Refuse a state that no monitor of this calibrator can have saved.

    Parameters
    ----------
    state : dict
        What a file says.
    fresh : dict
        The state of such a monitor before its first row.
    """
    check_like(state, fresh, signed=_SIGNED)
    n_rows, n_labels, *_ = state["evidence"]
    seen = state["rows"]["wealth"]["n_rows"], state["kept"]["n_rows"], state["labels"]["wealth"]["n_rows"]
    if seen != (n_rows, n_rows, n_labels):
        raise ValueError("its parts must have seen the same rows")
    for point in state["history"]["points"]:
        check_like(point, fresh["evidence"], "state.history")
    for kind, (after, reason) in state["alarms"].items():
        if kind not in get_args(AlarmKind):
            raise ValueError(f"state.alarms must be of kind {' or '.join(get_args(AlarmKind))}")
        check_count(after, f"state.alarms.{kind}")
        check_like(reason, str(reason), f"state.alarms.{kind}")
