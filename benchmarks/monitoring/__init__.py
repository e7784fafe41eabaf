"""How often a monitor alarms without cause, and how soon with one; see docs/evidence/monitoring.md."""
