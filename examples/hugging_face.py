"""A Hugging Face vision transformer reads digits, and meets images that show none. Needs transformers."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader
from transformers import ViTConfig, ViTForImageClassification

import auxcal
from auxcal import CCACX, NO_CLASS
from auxcal.torch import collect

torch.manual_seed(0)
images, digits = load_digits(return_X_y=True)
images = images.reshape(-1, 1, 8, 8).astype(np.float32) / 16

# The target classifier, small and trained here; yours comes from from_pretrained.
config = ViTConfig(
    image_size=8,
    patch_size=2,
    num_channels=1,
    hidden_size=32,
    num_hidden_layers=1,
    num_attention_heads=4,
    intermediate_size=64,
    num_labels=10,
    output_hidden_states=True,  # from which the features below come
)
model = ViTForImageClassification(config)
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
known, target = torch.from_numpy(images[:800]), torch.from_numpy(digits[:800])
for rows in torch.randperm(800 * 20).remainder(800).split(50):
    optimizer.zero_grad()
    model(pixel_values=known[rows], labels=target[rows]).loss.backward()
    optimizer.step()

# What it meets: other digits, every third overlaid with the next one upside down, so that it is no digit.
met, y = images[800:].copy(), digits[800:].copy()
met[::3] = np.maximum(met, np.roll(met, -1, axis=0)[:, :, ::-1])[::3]
y[::3] = NO_CLASS
samples = [
    {"pixel_values": image, "labels": label}
    for image, label in zip(met, y, strict=True)
]

# <collect>
# The loader gives dicts: {"pixel_values": ..., "labels": ...}
loader = DataLoader(samples, batch_size=64)
predictions = collect(
    model, loader, features=lambda output: output.hidden_states[-1][:, 0], progress=True
)

labelled, test = predictions.take(slice(600)), predictions.take(slice(600, None))
calibrator = CCACX(random_state=0).fit(
    labelled.logits, labelled.y, features=labelled.features
)
confidence = calibrator.predict_confidence(test.logits, test.features)
# </collect>

uncalibrated = auxcal.Uncalibrated().fit(labelled.logits, labelled.y)
softmax = uncalibrated.predict_confidence(test.logits)
for name, values in {"softmax": softmax, "CCAC-X": confidence}.items():
    scores = auxcal.evaluate(values, test.correct)
    print(
        f"{name:8} says {values.mean():.0%}, is right on {test.correct.mean():.0%}; ECE {scores['ece']:.1%}"
    )
