"""What well-chosen labels are worth, and how good the forecasts of a plan are; see docs/evidence/labelling.md."""
