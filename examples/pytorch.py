"""A PyTorch classifier of digits meets rotated and shifted digits, and images that show no digit."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import auxcal
from auxcal import CCACX, NO_CLASS
from auxcal.torch import collect
from auxcal_paper.shifts import Augment

torch.manual_seed(0)
images, digits = load_digits(return_X_y=True)
images = images.reshape(-1, 1, 8, 8).astype(np.float32) / 16

# The target classifier: yours will be better. It returns logits, without a final softmax.
module = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
known, target = torch.from_numpy(images[:800]), torch.from_numpy(digits[:800])
for _ in range(100):
    optimizer.zero_grad()
    nn.functional.cross_entropy(module(known), target).backward()
    optimizer.step()

# What it meets: six rotated and shifted copies of other digits, every third overlaid with the next digit upside down.
turn = Augment(rotation=20, shift=0.1, zoom=0.2)
turned = turn(np.repeat(images[800:], 6, axis=0), 0)
y = np.repeat(digits[800:], 6)
strange = np.arange(len(y)) % 3 == 0
turned[strange] = np.maximum(turned, np.roll(turned, -6, axis=0)[:, :, ::-1])[strange]
y[strange] = NO_CLASS  # out-of-distribution: none of the ten classes

# <collect>
samples = TensorDataset(torch.from_numpy(turned), torch.from_numpy(y))
predictions = collect(module, DataLoader(samples, batch_size=256))

# Copies of one image stay together, so that the test images are new.
labelled, test = predictions.take(slice(3_000)), predictions.take(slice(3_000, None))
calibrator = CCACX(random_state=0).fit(labelled.logits, labelled.y)
# </collect>

# <use>
with torch.no_grad():
    logits = module(torch.from_numpy(turned[:8]))
prediction = logits.argmax(dim=1)
confidence = calibrator.predict_confidence(logits)  # a tensor, as logits is one
# </use>

softmax = auxcal.Uncalibrated().fit(labelled.logits, labelled.y)
for name, each in {"softmax": softmax, "CCAC-X": calibrator}.items():
    values = each.predict_confidence(test.logits)
    scores = auxcal.evaluate(values, test.correct)
    print(
        f"{name:8} says {values.mean():.0%}, is right on {test.correct.mean():.0%}; ECE {scores['ece']:.1%}"
    )
