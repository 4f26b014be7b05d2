"""Images without a prediction: whether the numbers of a run leave them out or count them as wrong."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Unanswered:
    """How many images have no answer, and how many of them are counted as wrong in the numbers.

    >>> Unanswered(3, 0).clause(), Unanswered(3, 3).clause(), Unanswered(3, 1).clause()
    ('they are in no number above', 'they count as wrong in the numbers above', '1 of them counts as wrong in the
    numbers above, the others are in none')
    """

    images: int
    counted: int

    @classmethod
    def of(cls, failed: Collection[str], scores: Any, metrics: Sequence[str]) -> "Unanswered":
        """The counts, from the names of the images and the score table: a row with a score is in the numbers."""
        import pyarrow as pa
        import pyarrow.compute as pc

        columns = [scores[f"m.{name}"] for name in metrics if f"m.{name}" in scores.column_names]
        if not failed or not columns:
            return cls(len(failed), 0)
        samples = scores["sample"].cast(pa.string())
        rows = pc.is_in(samples, value_set=pa.array(sorted(failed), pa.string()))
        scored = pc.is_valid(columns[0])
        for column in columns[1:]:
            scored = pc.or_(scored, pc.is_valid(column))
        return cls(len(failed), len(samples.filter(pc.and_(rows, scored)).unique()))

    def clause(self, where: str = " above") -> str:
        """The clause on how the numbers treat these images."""
        if not self.counted:
            return f"{'it is' if self.images == 1 else 'they are'} in no number{where}"
        if self.counted == self.images:
            return f"{'it counts' if self.images == 1 else 'they count'} as wrong in the numbers{where}"
        some = f"{self.counted:,} of them count{'s' if self.counted == 1 else ''} as wrong in the numbers{where}"
        return f"{some}, the others are in none"

    @property
    def warning(self) -> str:
        """The warning where there are too many of them.

        >>> Unanswered(3, 0).warning, Unanswered(3, 3).warning
        ('the numbers leave them out and may flatter the model', 'the numbers count them as wrong')
        """
        if not self.counted:
            return "the numbers leave them out and may flatter the model"
        return "the numbers count them as wrong" if self.counted == self.images else self.clause("")
