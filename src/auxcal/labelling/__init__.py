"""Which samples to label, how many, and what they show together with the unlabelled rest."""

from auxcal.labelling._estimate import estimate
from auxcal.labelling._pick import Picks, pick
from auxcal.labelling._plan import Forecast, Plan, plan
from auxcal.metrics.intervals import Estimate

__all__ = ["Estimate", "Forecast", "Picks", "Plan", "estimate", "pick", "plan"]
