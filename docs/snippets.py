"""What the snippets of the pages take as given: the tests run this before the Python of a page, in the same process.

It gives data only. A snippet imports what it uses, or an earlier one on its page does.
"""

import numpy as np

rng = np.random.default_rng(0)
y = rng.integers(3, size=300)
logits = 2 * np.eye(3)[y] + rng.normal(size=(300, 3))
features = rng.normal(size=(300, 2))
new_logits, new_features = logits, features

# A confidence and whether each prediction was correct, as the metrics read them.
correct = logits.argmax(axis=1) == y
confidence = np.full(300, correct.mean())

# Classes by name; some rows have none of the classifier's.
class_names = ["cat", "dog", "bird"]
labels = ["other" if row % 10 == 0 else class_names[k] for row, k in enumerate(y)]
