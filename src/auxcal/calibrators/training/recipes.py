"""Recipes: for how long and how fast to train a network."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """The settings of the training loop.

    Parameters
    ----------
    epochs : int
        Passes over the fit part.
    batch_size : int
        Rows per step.
    learning_rate : float
        Adam's learning rate; with `one_cycle`, its maximum.
    least_steps : int
        The minimum number of steps: with few rows, epochs are added.
    weight_decay : float
        Decoupled, as in AdamW, and proportional to the number of weights per row: the more rows, the less decay.
    one_cycle : bool
        Whether the learning rate rises and falls once, or is constant.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    least_steps: int = 0
    weight_decay: float = 0.0
    one_cycle: bool = False


FAST = Recipe(epochs=20, batch_size=256, learning_rate=2e-2, least_steps=1500, weight_decay=0.3, one_cycle=True)
"""The default: a fiftieth of the paper's epochs, with a schedule and weight decay."""

TRANSFER = Recipe(epochs=0, batch_size=64, learning_rate=3e-2, least_steps=300, one_cycle=True)
"""For CCAC-T, which fine-tunes a few dozen parameters on a few hundred rows."""
