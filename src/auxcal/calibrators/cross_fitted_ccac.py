"""The former place and name of CCAC-X, for pickles of earlier versions."""

from auxcal.calibrators.ccacx import CCACX

CrossFittedCCAC = CCACX
