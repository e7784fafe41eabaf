"""The probability that an answer of any model is right, from signals in place of logits.

The answers are made up: a stated confidence with gaps, a length, and a topic. A few hundred of them have been marked.
"""

import numpy as np
import pandas as pd

import auxcal

rng = np.random.default_rng(0)
topic, ability = rng.choice(["law", "maths", "physics"], 3000), rng.normal(size=3000)
answers = pd.DataFrame(
    {
        "stated": np.clip(0.85 + 0.08 * ability, 0, 1).round(2),
        "length": np.exp(5 - 0.2 * ability + 0.5 * rng.normal(size=3000)).round(),
        "topic": topic,
    }
)
answers.loc[rng.random(3000) < 0.1, "stated"] = np.nan
log_odds = 1.5 * ability + np.select([topic == "law", topic == "maths"], [-1.0, 1.0])
right = rng.random(3000) < 1 / (1 + np.exp(-log_odds))
marked, new = answers[:600], answers[600:]

# <fit>
calibrator = auxcal.SignalCalibrator(random_state=0).fit(marked, right[:600])
confidence = calibrator.predict_confidence(new)  # that each answer is right
# </fit>

# <use>
found = auxcal.evaluate(confidence, right[600:])  # with marks of other answers
check = auxcal.check(calibrator, new)  # without marks
# </use>

print(
    f"Brier score {found['brier']:.3f}, ECE {found['ece']:.3f} (noise up to {found['ece_floor_p95']:.3f})"
)
print(check)
