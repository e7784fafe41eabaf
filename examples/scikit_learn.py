"""A scikit-learn pipeline that knows the digits 0 to 7 meets rotated and shifted digits, and also 8 and 9."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import auxcal
from auxcal import NO_CLASS, CrossFittedCCAC, Predictions
from auxcal.shifts import Augment

NAMES = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])

images, digits = load_digits(return_X_y=True)
train, meet = digits[:900] <= 7, Augment(rotation=15, shift=0.05)
x_train, labels_train = images[:900][train], NAMES[digits[:900][train]]
x_new = meet(np.repeat(images[900:], 5, axis=0).reshape(-1, 1, 8, 8), 0).reshape(-1, 64)
labels_new = NAMES[np.repeat(digits[900:], 5)]

# <fit>
classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
classifier.fit(x_train, labels_train)

# Samples that the classifier was not trained on; their classes as numbers.
number = {name: i for i, name in enumerate(classifier.classes_)}
y = [number.get(label, NO_CLASS) for label in labels_new]
predictions = Predictions(classifier.predict_log_proba(x_new), y)

# Copies of one image stay together, so that the test images are new.
labelled, test = predictions.take(slice(2_500)), predictions.take(slice(2_500, None))
calibrator = CrossFittedCCAC(random_state=0).fit(labelled.logits, labelled.y)
# </fit>

# <use>
prediction = classifier.predict(x_new[:5])
confidence = calibrator.predict_confidence(classifier.predict_log_proba(x_new[:5]))
# </use>

before = auxcal.Uncalibrated().fit(labelled.logits, labelled.y).predict_confidence(test.logits)
for name, values in {"uncalibrated": before, "CCAC-X": calibrator.predict_confidence(test.logits)}.items():
    scores = auxcal.evaluate(values, test.correct)
    print(f"{name:12} says {values.mean():.0%}, is right on {test.correct.mean():.0%}; ECE {scores['ece']:.1%}")
