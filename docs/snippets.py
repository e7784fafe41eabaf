"""What the snippets of the pages take as given: the tests run this before the Python of a page, in the same process.

It gives data only. A snippet imports what it uses, or an earlier one on its page does.
"""

import json
from pathlib import Path

import numpy as np

rng = np.random.default_rng(0)
y = rng.integers(3, size=300)
logits = 2 * np.eye(3)[y] + rng.normal(size=(300, 3))
features = rng.normal(size=(300, 2))
new_logits, new_features = logits, features

# A confidence and whether each prediction was correct, as the metrics read them.
correct = logits.argmax(axis=1) == y
confidence = np.full(300, correct.mean())

# What is known of each answer where there are no logits.
signals = {"verbal": np.round(rng.random(300), 1), "topic": rng.choice(["law", "art"], 300)}

# Classes by name; some rows have none of the classifier's.
class_names = ["cat", "dog", "bird"]
labels = ["other" if row % 10 == 0 else class_names[k] for row, k in enumerate(y)]

# What a server wrote: a language model's answers to these 300 questions, with the log-probabilities of three letters.


def _line(number, logprobs, truth):
    tops = [{"token": letter, "logprob": float(each)} for letter, each in zip("ABC", logprobs, strict=True)]
    tops.sort(key=lambda each: -each["logprob"])
    content = [{**tops[0], "top_logprobs": tops}]
    choice = {"message": {"content": tops[0]["token"]}, "logprobs": {"content": content}, "finish_reason": "stop"}
    return json.dumps({"id": f"q{number}", "truth": "ABC"[truth], "response": {"choices": [choice]}})


_logprobs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)) - 0.01
Path("answers.jsonl").write_text("\n".join(map(_line, range(300), _logprobs, y)))
