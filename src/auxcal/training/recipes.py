"""How long and how fast a network is trained."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """The settings of the training loop.

    Parameters
    ----------
    epochs : int
        Passes over the fit part.
    batch_size : int
        Rows of a step.
    learning_rate : float
        That of Adam; with `one_cycle` the highest.
    least_steps : int
        With few rows, epochs are added until there are as many steps.
    weight_decay : float
        Decoupled, as in AdamW, and in proportion to the number of weights of a network for each row: a network that
        has more rows to learn from is held back less.
    one_cycle : bool
        Whether the learning rate rises and falls once, or stays.
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
"""For CCAC-T, where a few hundred rows move a few dozen numbers from where they are."""
