"""The loss of CCAC, equation 2 of the paper."""

import torch
from torch import Tensor


def auxiliary_class_loss(
    logits: Tensor, w: Tensor, lambda1: Tensor, lambda2: Tensor, sample_weight: Tensor | None = None
) -> Tensor:
    """Return −Σ_{k≤K} w_k log μ_k − λ1 (1 − w_{K+1}) log(1 − μ_{K+1}) − λ2 w_{K+1} log μ_{K+1}.

    Parameters
    ----------
    logits : tensor of shape (G, n, K + 1)
        The outputs of G networks, the auxiliary class last.
    w : tensor of shape (n,)
        The extended label: the class where the prediction is correct, else K.
    lambda1, lambda2 : tensors of shape (G, 1)
        The settings of the networks.
    sample_weight : tensor of shape (n,), optional
        How often each row counts, relative to the mean row.

    Returns
    -------
    tensor of shape (G,)
        The mean loss of each network.
    """
    wrong = w == logits.shape[2] - 1
    log_total = torch.logsumexp(logits, dim=2)
    at_w = torch.gather(logits, 2, w.expand(logits.shape[0], -1)[:, :, None])[:, :, 0]
    loss = (log_total - at_w) * torch.where(wrong, lambda2, 1.0)
    if bool((lambda1 > 0).any()):
        # 1 − μ_{K+1} is the sum of the others: as a logsumexp it stays exact where μ_{K+1} is near 1.
        log_classes = torch.logsumexp(logits[:, :, :-1], dim=2)
        loss = loss + (log_total - log_classes) * torch.where(wrong, 0.0, lambda1)
    return loss.mean(dim=1) if sample_weight is None else (loss * sample_weight).mean(dim=1)
