"""A scikit-learn pipeline of the digits 0 to 7 meets 8 and 9 too, and says how likely its predictions are right."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import auxcal
from auxcal import CCACX, CalibratedClassifier
from auxcal.sklearn import confidence_scorer

NAMES = np.array(
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "other", "other"]
)

images, digits = load_digits(return_X_y=True)
x, x_new, y, y_new = train_test_split(
    images, NAMES[digits], test_size=0.5, stratify=digits, random_state=0
)

# <fit>
pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
classifier = CalibratedClassifier(pipeline, no_class="other").fit(x, y)

prediction = classifier.predict(x_new)  # never "other"
confidence = classifier.predict_confidence(x_new)  # that the prediction is right
# </fit>

# <evaluate>
right = prediction == y_new
scores = auxcal.evaluate(confidence, right)
print(f"mean confidence {confidence.mean():.0%}, accuracy {right.mean():.0%}")
print(f"ECE {scores['ece']:.1%}, Brier score {scores['brier']:.3f}")
# </evaluate>

# <search>
accuracy = cross_val_score(classifier, x, y, cv=3)

candidate = CalibratedClassifier(
    pipeline, CCACX(random_state=0), no_class="other", cv=3
)
grid = {"estimator__logisticregression__C": [0.01, 1], "calibrator__n_folds": [3, 5]}
search = GridSearchCV(candidate, grid, scoring=confidence_scorer("brier"), cv=2)
search.fit(x, y)
best = search.best_estimator_
# </search>

# <frozen>
known = y != "other"
pipeline.fit(x[known], y[known])

frozen = CalibratedClassifier(FrozenEstimator(pipeline), no_class="other")
frozen.fit(x_new[:400], y_new[:400])
confidence = frozen.predict_confidence(x_new[400:])
# </frozen>

# <abstain>
sure = frozen.predict_confidence(x_new[400:]) >= 0.9
answer = np.where(sure, frozen.predict(x_new[400:]), "ask a person")
# </abstain>

print(f"accuracy in cross-validation {accuracy.mean():.0%}; best {search.best_params_}")
print(
    f"the fitted pipeline answers {sure.mean():.0%}, {(answer == y_new[400:])[sure].mean():.1%} of it correctly"
)
