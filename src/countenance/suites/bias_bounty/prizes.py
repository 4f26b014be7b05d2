"""Who wins: the best supervised, the best unsupervised and the fastest entry.

A prize is shared only by entries between which the evidence cannot decide: scores by paired differences, speeds by
their passes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from countenance.auditing.ranking import Ranking
from countenance.report.numbers import probability

if TYPE_CHECKING:
    from countenance.suites.bias_bounty.board import BoardEntry

FASTEST = "fastest"


@dataclass(frozen=True)
class Prize:
    """A prize with its winners; none where it cannot be awarded, and `why` says so."""

    name: str
    winners: tuple[str, ...]
    why: str

    def line(self) -> str:
        """The prize in words."""
        if not self.winners:
            return f"{self.name}: not awarded, {self.why}"
        shared = " (shared)" if len(self.winners) > 1 else ""
        return f"{self.name}: {', '.join(self.winners)}{shared}; {self.why}"


def award(standings: "Sequence[BoardEntry]", rankings: Mapping[tuple[str, str], Ranking]) -> tuple[Prize, ...]:
    """The three prizes, from the private tables and from the leaderboard's own timings."""
    labels = {s.name: s.handed.labels_used for s in standings if s.handed.labels_used}
    scored = []
    for group in ("supervised", "unsupervised"):
        prize = _by_score(f"best {group}", rankings.get(("private", group)))
        used = [f"{name} uses labels: {labels[name]}" for name in prize.winners if name in labels]
        scored.append(replace(prize, why="; ".join([prize.why, *used])))
    return (*scored, _by_speed(standings))


def _by_score(name: str, ranking: Ranking | None) -> Prize:
    if ranking is None:
        return Prize(name, (), "no such entry has answers on the holdout")
    best = ranking.names[0]
    score = f"Score₂ {ranking.estimates[0]:.3f}"
    if len(ranking.names) == 1:
        return Prize(name, (best,), f"{score}, the only entry")
    if len(ranking.first) > 1:
        rivals = [ranking.pair(best, other) for other in ranking.first[1:]]
        least = min(rivals, key=lambda pair: pair.adjusted if pair.adjusted == pair.adjusted else 1.0)
        p = probability(least.adjusted) + (" or more" if least.adjusted < 1 else "")
        return Prize(name, ranking.first, f"the paired evidence cannot decide (adjusted p {p})")
    closest = max((pair for pair in ranking.pairs if best == pair.better), key=lambda pair: pair.adjusted)
    gap = f"{closest.difference:+.3f} [{closest.low:+.3f}, {closest.high:+.3f}]"
    return Prize(name, (best,), f"{score}, {gap} ahead of {closest.worse}, adjusted p {probability(closest.adjusted)}")


def _by_speed(standings: "Sequence[BoardEntry]") -> Prize:
    timed = [(s.name, s.timing) for s in standings if s.timing is not None]
    if not timed:
        return Prize(FASTEST, (), "no entry was timed here; `leaderboard --time` does it")
    timed.sort(key=lambda pair: pair[1].milliseconds_per_image)
    name, best = timed[0]
    told = f"{best.milliseconds_per_image:.3g} ms an image"
    if len(timed) == 1:
        return Prize(FASTEST, (name,), f"{told}, the only timed entry")
    # Of two equally fast entries with five passes each, all of one beat all of the other 1 time in 126.
    slowest = max(best.passes) / best.images
    rivals = [other for other, timing in timed[1:] if min(timing.passes) / timing.images <= slowest]
    if rivals:
        return Prize(FASTEST, (name, *rivals), f"{told}; their passes overlap")
    second, timing = timed[1]
    return Prize(
        FASTEST, (name,), f"{told}, every pass faster than any of {second} ({timing.milliseconds_per_image:.3g} ms)"
    )
