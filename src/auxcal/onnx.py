"""Where classifiers are ONNX files: a calibrator as a graph of its own, or at the end of the classifier's.

A graph is built from the fitted numbers, with standard operators only and without torch. It is the smallest way to
serve: onnxruntime and one file. The graph follows the calibrator's program, see `auxcal.programs`.
"""

from auxcal.export.onnx_attach import attach
from auxcal.export.onnx_model import to_onnx

__all__ = ["attach", "to_onnx"]
