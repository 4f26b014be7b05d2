"""A search by halves for the image of a shard that kills its worker."""

from dataclasses import dataclass, field


@dataclass
class Bisection:
    """A search for the image of a shard that ends its worker; each attempt succeeds or ends the worker.

    >>> search = Bisection(8)
    >>> while search.culprit is None and not search.over:
    ...     low, high = search.candidates()
    ...     search.tell(low <= 5 < high)
    >>> search.culprit
    5
    """

    images: int
    low: int = 0
    high: int = field(init=False)
    culprit: int | None = None
    over: bool = False
    """The search is over and no single image causes deaths."""

    def __post_init__(self) -> None:
        self.high = self.images
        self.over = self.images == 0

    def candidates(self) -> tuple[int, int]:
        """The images to try: the first half of the suspects, or the last one left."""
        if self.high - self.low <= 1:
            return self.low, self.high
        return self.low, (self.low + self.high) // 2

    def tell(self, harmful: bool) -> None:
        """Record the outcome of the images that were tried."""
        low, high = self.candidates()
        if high - low == 1 and self.high - self.low == 1:
            self.culprit = low if harmful else None
            self.over = not harmful
        elif harmful:
            self.high = high
        else:
            self.low = high
