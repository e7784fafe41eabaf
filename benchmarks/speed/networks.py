"""How long CCAC, CCAC-S and CCAC-T take to train, beside the paper's recipe as a plain torch loop."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from benchmarks.speed.data import packaged
from benchmarks.speed.measure import Measured, in_turns, measured

import auxcal
from auxcal._core.threads import one_thread

LEAST_TIMES, MOST_SECONDS = 100, 1.0
KINDS = {"ccac": auxcal.CCAC, "ccac-s": auxcal.SimplifiedCCAC}
BATCH = 32


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return a row for each method."""
    n_fit, n_select = (2_000, 1_000) if quick else (30_000, 2_000)
    fit, select, few = packaged("cifar10-resnet20", "D1").split(n_fit, n_select, 520, random_state=0)
    rows = []
    for name, kind in KINDS.items():
        ours, fitted = measured(
            lambda kind=kind: kind(random_state=0).fit(fit.logits, fit.y, select=(select.logits, select.y))
        )
        architecture, settings = fitted._architecture(fit.n_classes), len(fitted._settings())
        epochs = 1 if quick else 2
        plain = plain_epochs(fit, architecture.hidden_sizes, architecture.learning_rate, name == "ccac-s", epochs)
        scaled = plain.cpu / epochs * architecture.epochs * settings
        ratio = scaled / ours.cpu
        rows.append(
            {
                "method": name,
                "n": n_fit,
                "settings": settings,
                "ours": vars(ours),
                "epochs": epochs,
                "plain_cpu": plain.cpu,
                "paper_epochs": architecture.epochs,
                "paper_cpu": scaled,
                "ratio": ratio,
                "verdict": "met" if ratio >= LEAST_TIMES else "missed",
            }
        )
        print(
            f"{name:>8}: {ours.cpu:.1f} s CPU for {settings} settings, the paper's recipe {scaled:,.0f}: {ratio:.0f}×"
        )
    here, there = few.take(slice(320)), few.take(slice(320, None))
    transfer = in_turns(
        {"ccac-t": lambda: fitted.transfer(here.logits, here.y, select=(there.logits, there.y))}, 5, 10.0
    )["ccac-t"]
    verdict = "met" if transfer.wall < MOST_SECONDS else "missed"
    rows.append({"method": "ccac-t", "n": 320, "settings": settings, "ours": vars(transfer), "verdict": verdict})
    print(f"  ccac-t: {transfer.wall:.2f} s")
    return rows


def plain_epochs(
    data: auxcal.Predictions, hidden_sizes: tuple[int, ...], learning_rate: float, simplified: bool, epochs: int
) -> Measured:
    """Return what some epochs of the paper's recipe take for one network, as a user of torch would write it."""
    k = data.n_classes
    sizes = (k, *hidden_sizes, 1 if simplified else k + 1)
    layers: list[torch.nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1])
    temperature = torch.nn.Parameter(torch.ones(1))
    optimiser = torch.optim.Adam([*network.parameters(), temperature], lr=learning_rate)
    logits, w = torch.from_numpy(data.logits), torch.from_numpy(data.w)
    rng = np.random.default_rng(0)

    def train() -> None:
        for _ in range(epochs):
            for rows in torch.from_numpy(rng.permutation(len(w))).split(BATCH):
                z = logits[rows]
                out = torch.cat([z / temperature, network(z)], dim=1) if simplified else network(z)
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(out, w[rows]).backward()  # equation 2 at λ1 = 0 and λ2 = 1
                optimiser.step()

    with one_thread():  # more of them only wait for each other here, which would make the recipe look slower
        return measured(train)[0]
