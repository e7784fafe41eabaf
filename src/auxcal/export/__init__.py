"""Calibrators as torch modules and ONNX models."""
