"""How well auxcal checks and adapts without labels; see docs/evidence/without-labels.md."""
