"""A calibrator with its default parameters and one source of randomness."""

from auxcal.calibrators._base import Calibrator


def seeded(kind: type[Calibrator], random_state: int) -> Calibrator:
    """Return an unfitted calibrator, with the random state if the method takes one.

    Examples
    --------
    >>> from auxcal import CCAC, PlattScaling
    >>> from auxcal.calibrators._seeded import seeded
    >>> seeded(CCAC, 3), seeded(PlattScaling, 3)
    (CCAC(random_state=3), PlattScaling())
    """
    calibrator = kind()
    if "random_state" in calibrator.get_params():
        calibrator.set_params(random_state=random_state)
    return calibrator
