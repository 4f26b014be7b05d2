"""The winners, by the challenge's rules: first, second and third of all, and the best unsupervised entry.

Prizes go by Score₂ on the holdout, to entries that were run by the organiser, at most one for each crew. The evidence
about the order is shown beside each prize and does not change it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from countenance.auditing.ranking import Ranking
from countenance.report.numbers import probability

if TYPE_CHECKING:
    from countenance.suites.bias_bounty.board import BoardEntry

PLACES = ("first", "second", "third")


@dataclass(frozen=True)
class Prize:
    """A prize with its winners (several with exactly equal scores); without winners, `why` has the reason."""

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
    """The four prizes, from the private tables."""
    known = {standing.name: standing for standing in standings}
    prizes = [_place(place, name, rankings.get(("private", "all")), known) for place, name in enumerate(PLACES, 1)]
    return (*prizes, _place(1, "best unsupervised", rankings.get(("private", "unsupervised")), known))


def _place(place: int, name: str, ranking: Ranking | None, known: "Mapping[str, BoardEntry]") -> Prize:
    """The winners of one place among the verified entries of a ranking."""
    if ranking is None:
        return Prize(name, (), "no such entry has answers on the holdout")
    scores = dict(zip(ranking.names, ranking.estimates, strict=True))
    verified = [entry for entry in ranking.names if known[entry].verified and scores[entry] == scores[entry]]
    if len(verified) < place:
        many = "1 entry was" if len(verified) == 1 else f"{len(verified)} entries were"
        return Prize(name, (), f"{many} run here" if verified else "no entry was run here")
    score = scores[verified[place - 1]]
    winners = tuple(entry for entry in verified if scores[entry] == score)
    if scores[verified[0]] == score and place > 1:
        return Prize(name, (), f"shared above: equal scores of {', '.join(winners)}")
    labels = [f"{entry} uses labels: {known[entry].handed.labels_used}" for entry in winners]
    used = [text for entry, text in zip(winners, labels, strict=True) if known[entry].handed.labels_used]
    return Prize(name, winners, "; ".join([f"Score₂ {score:.3f}", *_evidence(winners[0], ranking), *used]))


def _evidence(winner: str, ranking: Ranking) -> list[str]:
    """The evidence about the order: which entries may equal the first, and how others compare with the first."""
    if winner == ranking.names[0]:
        rivals = ranking.undecided
        return [f"not shown to be better than {', '.join(rivals)}"] if rivals else []
    pair = ranking.pair(ranking.names[0], winner)
    return [f"{-pair.difference:+.3f} against {pair.better}, adjusted p {probability(pair.adjusted)}"]
