"""Lets torchvision be imported beside a torch for CPUs; import this before whatever imports torchvision.

Its wheel is built for GPUs and does not find its own operators here. torch-uncertainty and torchmetrics import it, but
what is measured of them uses none of its operators: it is enough to declare the two that the import asks for.
"""

import torch

_declared = torch.library.Library("torchvision", "DEF")
for _name in ("nms", "qnms"):
    _declared.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
