"""Which samples to label, how many, and what the labels say together with the unlabelled rest."""

from auxcal.labelling._estimates import Estimate, estimate
from auxcal.labelling._pick import Picks, pick
from auxcal.labelling._plan import Outlook, Plan, plan

__all__ = ["Estimate", "Outlook", "Picks", "Plan", "estimate", "pick", "plan"]
