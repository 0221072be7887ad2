"""A rule of a physician, which nobody trained: two measurements decide most patients, and doubtful ones take two more.

The program speaks the messages of docs/outsiders.md on stdin and stdout; it needs nothing but Python.
"""

import json
import sys


def decide(values: dict[str, float]) -> tuple[str | None, float]:
    """Return the feature that a patient needs next, or None and the chance that the cells are malignant."""
    size, texture, points = (values.get(f"worst {name}") for name in ("radius", "texture", "concave points"))
    if size is None:
        return "worst radius", 0.0
    if size > 18:
        return None, 0.99
    if texture is None:
        return "worst texture", 0.0
    if size < 14 and texture < 30:
        return None, 0.01
    if points is None:
        return "worst concave points", 0.0
    return None, 0.9 if points > 0.15 else 0.2


for line in sys.stdin:
    message = json.loads(line)
    if "fit" in message:
        print(json.dumps({"format": 1, "points": [{}]}))
        continue
    needed, malignant = decide(message["values"])
    chances = [{"label": "benign", "probability": 1 - malignant}, {"label": "malignant", "probability": malignant}]
    print(json.dumps({"asks": [needed]} if needed else {"answer": {"probabilities": chances}}))
