"""Run a torch network with ONNX Runtime, which takes a half to a tenth of torch's time on a busy CPU."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import torch
from torch import nn

from auxcal._core.arrays import Floats
from auxcal._core.extras import needs
from auxcal._core.progress import Report, silent


class OnnxNetwork:
    """A frozen copy of a network, exported once and run by ONNX Runtime.

    Parameters
    ----------
    network : nn.Module
        Takes one array and gives one; in evaluation mode.
    shape : tuple of int
        The shape of one input, without the batch.
    n_threads : int
        The number of threads; one is best on a shared machine.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> from auxcal_paper.classifiers._onnx import OnnxNetwork
    >>> OnnxNetwork(nn.ReLU().eval(), shape=(2,))(np.array([[-1.0, 2.0]], dtype=np.float32))
    array([[0., 2.]], dtype=float32)
    """

    def __init__(self, network: nn.Module, shape: tuple[int, ...], n_threads: int = 1) -> None:
        with needs("experiments"):
            import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = n_threads
        options.inter_op_num_threads = 1
        self._session: Any = onnxruntime.InferenceSession(
            _exported(network, shape), options, providers=["CPUExecutionProvider"]
        )

    def __call__(
        self,
        inputs: Floats,
        *,
        batch_size: int = 100,
        report: Report = silent,
    ) -> Floats:
        """Return the network's output for every row of the inputs."""
        rows = []
        for start in range(0, len(inputs), batch_size):
            batch = np.ascontiguousarray(inputs[start : start + batch_size], dtype=np.float32)
            rows.append(self._session.run(None, {"inputs": batch})[0])
            report(min(start + batch_size, len(inputs)) / len(inputs))
        return np.concatenate(rows)


def _exported(network: nn.Module, shape: tuple[int, ...]) -> bytes:
    with needs("experiments"):
        import onnx  # noqa: F401  # torch exports with it, and its own error names no extra
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that this exporter is old; the new one needs more packages
        torch.onnx.export(
            network,
            (torch.zeros(2, *shape),),
            file,  # type: ignore[arg-type]
            input_names=["inputs"],
            dynamic_axes={"inputs": {0: "n"}},
            dynamo=False,
        )
    return file.getvalue()
