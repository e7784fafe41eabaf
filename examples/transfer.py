"""The data change, and there are few new labels: fit CCAC-X again, or carry a CCAC-S over, the paper's CCAC-T.

A ResNet-20 on CIFAR-10 is calibrated on rotated, shifted and zoomed images (D1), with many labels. Then it meets images
of other classes (OOD), and there are 520 labels. The logits are real ones that come with the package.
"""

from pathlib import Path

from auxcal import CCACX, SimplifiedCCAC, evaluate
from auxcal_paper.bundles import bundle
from auxcal_paper.suites import suite

resnet = suite("cifar10-resnet20")
before, after = (
    bundle(resnet, shift, Path("data"), Path("cache")) for shift in ("D1", "OOD")
)
(labelled,) = before.split(5_000, random_state=0)
few, test = after.split(520, 8_000, random_state=0)
old = CCACX(random_state=0).fit(labelled.logits, labelled.y)

# <again>
ccac_x = CCACX(random_state=0).fit(few.logits, few.y)  # 520 new labels
# </again>

# <paper>
source = SimplifiedCCAC(random_state=0).fit(labelled.logits, labelled.y)
ccac_t = source.transfer(few.logits, few.y)  # moves T and the last layer alone
# </paper>

calibrators = {"the old CCAC-X": old, "CCAC-X again": ccac_x, "CCAC-T": ccac_t}
for name, calibrator in calibrators.items():
    scores = evaluate(calibrator.predict_confidence(test.logits), test.correct)
    print(
        f"{name:15} AUROC {scores['auroc']:.3f}  ECE {scores['ece']:.1%}  Brier {scores['brier']:.3f}"
    )
