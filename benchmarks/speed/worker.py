"""A process that fits with one library when it is told to, and says what that took.

It says "ready" when the library is imported. Then it reads a task as a line of JSON, {"method": ..., "data": a file
with logits and y}, and answers with another, again and again.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import warnings
from dataclasses import asdict
from functools import lru_cache

import numpy as np
from benchmarks.speed.answers import LOSSES
from benchmarks.speed.measure import measured
from benchmarks.speed.peers import Job

MOST_MEMORY = 12 * 2**30  # a library that wants more fails here, and does not take the machine with it


@lru_cache(maxsize=1)
def load(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the logits and the classes of a file."""
    with np.load(path) as data:
        return data["logits"], data["y"]


def fit_once(job: Job, method: str, logits: np.ndarray, y: np.ndarray) -> dict[str, object]:
    """Return what a fit takes, and the loss that it reaches."""
    taken, fitted = measured(job.fit)
    loss = LOSSES[method.partition(",")[0]](job.answer(fitted), logits, y)
    return {**asdict(taken), "loss": loss}


def main(library: str) -> None:
    """Answer tasks until there are no more."""
    # What the libraries print goes where nobody looks, so that answers stand alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    peer = importlib.import_module(f"benchmarks.speed.peers.{library}")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        try:
            logits, y = load(task["data"])
            answer = fit_once(peer.METHODS[task["method"]](logits, y), task["method"], logits, y)
        except Exception as error:  # a library may fail in any way: that is its result
            answer = {"failure": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
