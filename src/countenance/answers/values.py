"""Answers that are words or numbers: labels, parts, an embedding, an age, numbers by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from countenance.answers.base import Answer, Array, no_text, real


@dataclass(frozen=True)
class Labels(Answer):
    """Attributes that a model predicts for an image, each as one word, optionally with a probability for each word.

    >>> Labels({"gender": "woman"}, {"gender": {"woman": 0.9, "man": 0.1}}).values["gender"]
    'woman'
    """

    values: Mapping[str, str]
    probabilities: Mapping[str, Mapping[str, float]] | None = None

    def to_row(self) -> dict[str, Any]:
        import json

        return {
            "values": json.dumps(dict(self.values), sort_keys=True),
            "probabilities": None if self.probabilities is None else json.dumps(self.probabilities, sort_keys=True),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Labels":
        import json

        text = row["probabilities"]
        return cls(json.loads(row["values"]), None if text is None else json.loads(text))

    def problem(self, width: int, height: int) -> str | None:
        for name, shares in (self.probabilities or {}).items():
            if any(not np.isfinite(share) or not 0 <= share <= 1 for share in shares.values()):
                return f"a probability of {name} outside 0 to 1"
        return no_text([*self.values, *self.values.values()])


@dataclass(frozen=True)
class Parts(Answer):
    """For each person found, the probability that each named body part is in the picture.

    >>> Parts(({"face": 0.9, "hand": 0.2},)).probabilities[0]["face"]
    0.9
    """

    probabilities: tuple[Mapping[str, float], ...]

    def to_row(self) -> dict[str, Any]:
        import json

        return {"parts": [json.dumps(dict(person), sort_keys=True) for person in self.probabilities]}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Parts":
        import json

        return cls(tuple(json.loads(person) for person in row["parts"]))

    def problem(self, width: int, height: int) -> str | None:
        for person in self.probabilities:
            for name, share in person.items():
                if not np.isfinite(share) or not 0 <= share <= 1:
                    return f"part {name!r} has probability {share!r}, expected 0 to 1"
        return no_text(name for person in self.probabilities for name in person)


@dataclass(frozen=True)
class Embedding(Answer):
    """A vector that represents a face; None if the model found no face.

    >>> Embedding(np.array([0.6, 0.8])).problem(width=64, height=64) is None
    True
    """

    vector: Array | None

    def to_row(self) -> dict[str, Any]:
        return {"vector": None if self.vector is None else self.vector.tolist()}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Embedding":
        return cls(None if row["vector"] is None else np.asarray(row["vector"], dtype=np.float64))

    def problem(self, width: int, height: int) -> str | None:
        if self.vector is not None and (self.vector.ndim != 1 or not np.isfinite(self.vector).all()):
            return "an embedding that is not a vector of finite numbers"
        return None


@dataclass(frozen=True)
class Age(Answer):
    """An age in years, optionally with a probability for each year 0, 1, 2, …; None if the model gave no age.

    >>> Age.of([0.0, 0.25, 0.75]).years
    1.75
    """

    years: float | None
    probabilities: Array | None = field(default=None, compare=False)

    @classmethod
    def of(cls, probabilities: ArrayLike) -> "Age":
        """The mean of a distribution over years 0, 1, 2, …"""
        shares = np.asarray(probabilities, dtype=np.float64)
        total = shares.sum()
        if shares.ndim != 1 or not np.isfinite(shares).all() or (shares < 0).any() or abs(total - 1) > 1e-3:
            raise ValueError("a distribution over years that is not a list of probabilities with the sum 1")
        return cls(float(shares @ np.arange(len(shares)) / total), shares)

    def to_row(self) -> dict[str, Any]:
        shares = None if self.probabilities is None else self.probabilities.tolist()
        return {"years": self.years, "probabilities": shares}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Age":
        shares = row["probabilities"]
        return cls(row["years"], None if shares is None else np.asarray(shares, dtype=np.float64))

    def problem(self, width: int, height: int) -> str | None:
        if self.years is not None and not (np.isfinite(self.years) and -1 <= self.years <= 150):
            return f"an age of {self.years:g} years, expected 0 to 150"
        return None


@dataclass(frozen=True)
class Scalars(Answer):
    """Named real numbers for an image: the answer to a regression task, or the outputs of several heads.

    >>> Scalars({"weight_kg": 71.5}).to_row()
    {'names': ['weight_kg'], 'numbers': [71.5]}
    """

    values: Mapping[str, float]

    def __init__(self, values: Mapping[str, Any]) -> None:
        numbers = {}
        for name, value in values.items():
            number = real(value)
            if number.size != 1:
                raise ValueError(f"{name} of shape {number.shape}, expected one number")
            numbers[str(name)] = float(number.item())
        object.__setattr__(self, "values", numbers)

    @classmethod
    def of(cls, raw: Any, name: str = "value") -> "Scalars":
        """Scalars from a model's return value: Scalars, a dict of numbers, or one number with this name.

        >>> Scalars.of({"a": 1, "b": 2}).values, Scalars.of(0.5, name="height").values
        ({'a': 1.0, 'b': 2.0}, {'height': 0.5})
        """
        if isinstance(raw, Scalars):
            return raw
        if raw is None:
            raise ValueError("None, expected a number or a dict of numbers")
        return cls(raw if isinstance(raw, Mapping) else {name: raw})

    def to_row(self) -> dict[str, Any]:
        return {"names": list(self.values), "numbers": list(self.values.values())}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Scalars":
        return cls(dict(zip(row["names"], row["numbers"], strict=True)))

    def problem(self, width: int, height: int) -> str | None:
        if not self.values:
            return "no number at all"
        wrong = next((name for name, value in self.values.items() if not np.isfinite(value)), None)
        if wrong is not None:
            return f"{wrong} is {self.values[wrong]}, expected a finite number"
        return no_text(self.values)
