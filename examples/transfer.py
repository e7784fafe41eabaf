"""Carry a calibrator over to another shift with a few hundred labels: CCAC-X, and the paper's CCAC-T.

A ResNet-20 on CIFAR-10 is calibrated on turned, moved and zoomed images (D1), of which there are many labels. Then it
meets images of other classes (OOD), and there are 520. The logits are real ones that come with the package.
"""

from pathlib import Path

from auxcal import CrossFittedCCAC, SimplifiedCCAC, evaluate
from auxcal.experiments.bundles import bundle
from auxcal.experiments.suites import suite

resnet = suite("cifar10-resnet20")
there, here = (bundle(resnet, shift, Path("data"), Path("cache")) for shift in ("D1", "OOD"))

# --8<-- [start:transfer]
(labelled,) = there.split(5_000, random_state=0)
few, test = here.split(520, 8_000, random_state=0)

source = CrossFittedCCAC(random_state=0).fit(labelled.logits, labelled.y)
carried = source.transfer(few.logits, few.y)  # with 520 labels
# --8<-- [end:transfer]

# --8<-- [start:paper]
simplified = SimplifiedCCAC(random_state=0).fit(labelled.logits, labelled.y)
ccac_t = simplified.transfer(few.logits, few.y)  # temperature and last layer move
# --8<-- [end:paper]

fresh = CrossFittedCCAC(random_state=0).fit(few.logits, few.y)
shown = {"as it was": source, "from scratch": fresh, "carried over": carried, "CCAC-T": ccac_t}
for name, calibrator in shown.items():
    scores = evaluate(calibrator.predict_confidence(test.logits), test.correct)
    print(f"{name:13} AUROC {scores['auroc']:.3f}  ECE {scores['ece']:.1%}  Brier {scores['brier']:.3f}")
