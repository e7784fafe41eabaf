"""What a row is, for logits and for signals; the names of columns; and what a calibrator was fitted on."""

from auxcal.inputs.fitted_on import FittedOn, time_now
from auxcal.inputs.kinds import NOT_KNOWN, Inputs, Kind
from auxcal.inputs.logit_inputs import LogitInputs, check_features, places_of_classes
from auxcal.inputs.names import Names, by_name, names_of, places_of
from auxcal.inputs.signal_inputs import SignalInputs
from auxcal.inputs.warnings import (
    ADVISED_ROWS,
    refuse_wrong_kind,
    warn_of_few_rows,
    warn_of_no_errors,
    warn_of_probabilities,
    warn_of_wrong_kind,
    warn_of_zeros,
)

__all__ = [
    "ADVISED_ROWS",
    "NOT_KNOWN",
    "FittedOn",
    "Inputs",
    "Kind",
    "LogitInputs",
    "Names",
    "SignalInputs",
    "by_name",
    "check_features",
    "names_of",
    "places_of",
    "places_of_classes",
    "refuse_wrong_kind",
    "time_now",
    "warn_of_few_rows",
    "warn_of_no_errors",
    "warn_of_probabilities",
    "warn_of_wrong_kind",
    "warn_of_zeros",
]
