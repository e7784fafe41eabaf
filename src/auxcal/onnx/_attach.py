"""A calibrator at the end of a classifier's ONNX model."""


def attach():
    pass
