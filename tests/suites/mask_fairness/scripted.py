"""A generator that draws what a test says and remembers between which limits, and OpenCV with its calls noted."""

import cv2
import numpy as np


class Scripted:
    """Random numbers by plan: `random()` gives `chances` in turn, every other draw lies at `share` of its range."""

    def __init__(self, chances=(), share=0.5, choices=()):
        self.chances, self.share, self.choices = list(chances), share, list(choices)
        self.asked: list[tuple] = []

    def random(self):
        return self.chances.pop(0)

    def uniform(self, low, high, size=None):
        self.asked.append((low, high) if size is None else (low, high, size))
        value = low + self.share * (high - low)
        return value if size is None else np.full(size, value)

    def normal(self, mean, spread, size):
        self.asked.append((mean, spread, size))
        return np.full(size, mean + spread)

    def integers(self, count):
        self.asked.append((count,))
        return self.choices.pop(0)

    def choice(self, values):
        return values[self.choices.pop(0)]


class Noted:
    """OpenCV; what was asked of it is in `calls`, without the pictures."""

    def __init__(self):
        self.calls: dict[str, list[list]] = {}

    def __getattr__(self, name):
        found = getattr(cv2, name)
        if not callable(found):
            return found

        def call(*given, **further):
            self.calls.setdefault(name, []).append([*given[1:], further] if further else [*given[1:]])
            return found(*given, **further)

        return call
