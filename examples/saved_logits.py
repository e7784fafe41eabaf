"""From saved logits to a confidence for every new prediction.

The logits here are real ones that come with the package, of a ResNet-20 on CIFAR-10 that meets images of other classes.
"""

import tempfile
from pathlib import Path

import auxcal
from auxcal import CCACX, Predictions
from auxcal_paper.bundles import bundle
from auxcal_paper.suites import suite

temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
everything = bundle(suite("cifar10-resnet20"), "OOD", data_dir=folder, cache_dir=folder)
everything.save(folder / "logits.npz")

# <fit>
# A file as numpy.savez("logits.npz", logits=logits, y=y) writes it.
predictions = Predictions.load(folder / "logits.npz")
labelled, test = predictions.split(4_000, 8_000, random_state=0)

calibrator = CCACX(random_state=0).fit(labelled.logits, labelled.y)
calibrator.save(folder / "ccac-x.safetensors")
# </fit>

# <use>
calibrator = auxcal.load(folder / "ccac-x.safetensors")  # imports no torch
confidence = calibrator.predict_confidence(test.logits)
trusted = confidence >= 0.9
# </use>

# <evaluate>
scores = auxcal.evaluate(confidence, test.correct)
print(f"ECE {scores['ece']:.1%}, noise floor {scores['ece_floor_p95']:.1%}")
print(f"AUROC {scores['auroc']:.3f}, Brier score {scores['brier']:.3f}")
print(
    f"{trusted.mean():.0%} are trusted, {test.correct[trusted].mean():.1%} of them right"
)
# </evaluate>

temporary.cleanup()
