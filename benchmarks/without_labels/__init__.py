"""How well auxcal checks and adapts without labels; see docs/without-labels.md."""
