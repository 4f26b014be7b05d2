"""The leaderboard: every submission scored again from its answers, ranked by paired differences, public and private.

Public: Score₁ on the test. Private: Score₂ on the holdout, from randomness and efficiency too. What a submission says
of its own score or speed is kept but never used: only `leaderboard --time` earns an efficiency multiplier.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from countenance.auditing.ranking import Pair, Ranking
from countenance.data.adapters.bias_bounty_files import ClassTable, Truth
from countenance.errors import InputError
from countenance.suites.bias_bounty.entry import KINDS
from countenance.suites.bias_bounty.inference_timing import PASSES
from countenance.suites.bias_bounty.pairing import rank_predictions
from countenance.suites.bias_bounty.prizes import Prize, award
from countenance.suites.bias_bounty.rules import efficiency, score2
from countenance.suites.bias_bounty.scoring import Draws, Score, score_tables
from countenance.suites.bias_bounty.submissions import SUBMISSION, TIMING, Handed, earlier
from countenance.suites.bias_bounty.timing import ENTRY, Timing, kept_timings, read_timing, time_entries
from countenance.tasks.results import Number

GROUPS: Mapping[str, Sequence[str]] = {"all": KINDS, "supervised": KINDS[:2], "unsupervised": KINDS[2:]}
SPLITS = {"public": "test", "private": "holdout"}

HIDDEN = "its answers on the private holdout cannot be scored; ask the organisers"
"""Why an entry was rejected, where the reason would tell something of the holdout."""

Step = Callable[..., None]


@dataclass(frozen=True)
class BoardEntry:
    """One entry on the board."""

    name: str
    handed: Handed
    """The latest submission, which counts."""
    public: Score
    private: Score | None = None
    answers: Mapping[str, ClassTable] = field(default_factory=dict, repr=False)
    """Its predictions for each table."""
    history: tuple[Handed, ...] = ()
    """What was handed in under this name before."""
    timing: Timing | None = None
    """Measured by the leaderboard."""
    claimed: Timing | None = None
    """Handed in with the submission: shown, and used for nothing."""
    efficiency: float = 1.0

    @property
    def factor(self) -> float:
        """What Score₁ is multiplied with on the private board."""
        return score2(1.0, self.private.multiplier if self.private else 1.0, self.efficiency)

    def score(self, which: str) -> Number | None:
        """The score that ranks this entry: Score₁ on the test, or Score₂ on the holdout with its interval."""
        if which == "public" or self.private is None:
            return self.public.first if which == "public" else None
        first = self.private.first
        scaled = {part: getattr(first, part) * self.factor for part in ("value", "low", "high")}
        return first.model_copy(update={"name": "Score₂"} | scaled)

    def to_json(self) -> dict[str, Any]:
        second, shown = self.score("private"), self.timing or self.claimed
        told = {"number", "submitted", "score", "code_sha256"}
        return {
            "kind": self.handed.kind,
            "labels_used": self.handed.labels_used,
            "submissions": len(self.history) + 1,
            "history": [one.model_dump(include=told) for one in self.history],
            "submitted": self.handed.submitted,
            "code_sha256": self.handed.code_sha256,
            "public": self.public.to_json(),
            "private": self.private and self.private.to_json(),
            "timing": shown and shown.model_dump(),
            "timing_measured": self.timing is not None,
            "efficiency": self.efficiency,
            "score2": second and second.value,
            "score2_interval": second and [second.low, second.high],
        }


@dataclass(frozen=True)
class BoardRow:
    """A row of a table: entries that the evidence cannot tell apart share a rank."""

    rank: int
    tied: bool
    standing: BoardEntry
    score: Number
    behind: Pair | None
    """The comparison with the table's first entry; None for that entry itself."""

    def to_json(self) -> dict[str, Any]:
        handed, score = self.standing.handed, self.score
        return {
            "rank": self.rank, "tied": self.tied, "name": self.standing.name, "kind": handed.kind,
            "labels_used": handed.labels_used, "score": score.value, "interval": [score.low, score.high],
        }  # fmt: skip


@dataclass(frozen=True)
class Board:
    """Every submission, ranked or rejected."""

    standings: tuple[BoardEntry, ...]
    rejected: dict[str, str]
    notes: tuple[str, ...]
    rankings: Mapping[tuple[str, str], Ranking] = field(default_factory=dict)
    """By table (public, private) and group (all, supervised, unsupervised)."""
    prizes: tuple[Prize, ...] = ()
    strict_rubric: bool = False
    truth: Mapping[str, Truth] = field(default_factory=dict, repr=False)
    """What each table is scored against."""

    def places(self, which: str, group: str = "all") -> list[BoardRow]:
        """The table `public` or `private` of a group, best first."""
        ranking = self.rankings.get((which, group))
        if ranking is None:
            return []
        scored = {s.name: (s, score) for s in self.standings if (score := s.score(which)) is not None}
        first = ranking.names[0]
        return [
            BoardRow(rank, tied, *scored[name], None if name == first else ranking.pair(name, first))
            for name, rank, tied in zip(ranking.names, ranking.ranks, ranking.tied, strict=True)
        ]

    def part(self, which: str) -> "Board":
        """The board of one table alone: `public` has nothing that comes from the holdout, `private` has the prizes."""
        rankings = {key: ranking for key, ranking in self.rankings.items() if key[0] == which}
        if which == "private":
            return replace(self, standings=tuple(s for s in self.standings if s.private is not None), rankings=rankings)
        standings = tuple(replace(s, private=None, timing=None, efficiency=1.0) for s in self.standings)
        rejected = {name: HIDDEN if "holdout" in why else why for name, why in self.rejected.items()}
        return replace(self, standings=standings, rankings=rankings, rejected=rejected, notes=(), prizes=())

    def to_json(self) -> dict[str, Any]:
        tables: dict[str, dict[str, Any]] = {}
        for (which, group), ranking in self.rankings.items():
            tables.setdefault(which, {})[group] = [row.to_json() for row in self.places(which, group)]
            tables.setdefault(f"{which}_pairs", {})[group] = [vars(pair) for pair in ranking.pairs]
        return {
            "tables": tables,
            "prizes": [vars(prize) for prize in self.prizes],
            "entries": {standing.name: standing.to_json() for standing in self.standings},
            "rejected": self.rejected,
            "notes": self.notes,
            "strict_rubric": self.strict_rubric,
        }


@dataclass(frozen=True)
class Rules:
    """How a board is ranked."""

    strict_rubric: bool = False
    draws: Draws = field(default_factory=Draws)
    time: bool = False
    """Time every entry here and now; else earlier timings of the same entries on the same images count."""
    passes: int = PASSES


def rank(board: Path, data: Path, rules: Rules = Rules(), step: Step = lambda *_: None) -> Board:
    """Score every submission again and rank; one that cannot be scored is rejected with the reason."""
    folders = submission_folders(board)
    splits = {which: Truth.of_split(data, split) for which, split in SPLITS.items()
              if (data / split / "labels.csv").exists()}  # fmt: skip
    if "public" not in splits:
        raise InputError(f"{data / 'test' / 'labels.csv'}: no such file; --data is the challenge's folder")
    standings, rejected, notes = [], {}, list[str]()
    private = f"{board}/", ""  # where the organiser keeps the board is not for publication
    for folder in folders:
        try:
            standings.append(_standing(folder, splits, rules, notes))
        except InputError as error:
            rejected[folder.name] = str(error).replace(*private)
    entries = {s.name: board / s.name for s in standings if s.private and (board / s.name / ENTRY).is_dir()}
    if rules.time:
        notes += time_entries(board, entries, data / "holdout", rules.passes, step)
    timings, stale = kept_timings(board, entries, data / "holdout")
    multipliers = efficiency([t.milliseconds_per_image for t in timings.values()], strict_rubric=rules.strict_rubric)
    earned = dict(zip(timings, multipliers, strict=True))
    ranked = tuple(replace(s, timing=timings.get(s.name), efficiency=earned.get(s.name, 1.0)) for s in standings)
    rankings = {}
    for which, split in splits.items():
        for group, kinds in GROUPS.items():
            own = [s for s in ranked if s.handed.kind in kinds and which in s.answers]
            if own:
                said = {s.name: s.answers[which] for s in own}
                factors = {s.name: s.factor for s in own} if which == "private" else {}
                rankings[which, group] = rank_predictions(split, said, rules.draws, factors)
    told = tuple(note.replace(*private) for note in (*notes, *stale, *_notes(ranked, rules)))
    return Board(ranked, rejected, told, rankings, award(ranked, rankings), rules.strict_rubric, splits)


def submission_folders(board: Path) -> list[Path]:
    """The folders of a board's submissions; refused where there is none."""
    found = sorted(path.parent for path in board.glob(f"*/{SUBMISSION}"))
    if not found:
        raise InputError(f"{board}: no submissions; `countenance bias-bounty submit` hands one in")
    return found


def _standing(folder: Path, splits: Mapping[str, Truth], rules: Rules, notes: list[str]) -> BoardEntry:
    """An entry, scored."""
    handed, claimed = Handed.read(folder), None
    files = {which: folder / f"{SPLITS[which]}.csv" for which in splits}
    answers = {which: splits[which].predictions(f) for which, f in files.items() if which == "public" or f.exists()}
    scores = {which: score_tables(splits[which], said, rules.draws) for which, said in answers.items()}
    if (folder / TIMING).exists():
        try:
            claimed = read_timing(folder / TIMING, folder / ENTRY if (folder / ENTRY).is_dir() else None)
        except InputError as error:
            notes.append(str(error))
    both = scores["public"], scores.get("private")
    return BoardEntry(folder.name, handed, *both, answers=answers, history=earlier(folder), claimed=claimed)


def _notes(standings: Sequence[BoardEntry], rules: Rules) -> list[str]:
    notes = []
    timed = {s.name: (s.timing, s.claimed) for s in standings if s.timing is not None}
    if not timed:
        notes.append("no entry was timed by this leaderboard, efficiency ×1 for all: --time measures them here")
    elif len(timed) < 10:
        many = "1 timed entry" if len(timed) == 1 else f"{len(timed)} timed entries"
        notes.append(f"{many}: with fewer than 10 the top 10 % is empty by the literal rule, and no entry earns ×1.2")
    untimed = [s.name for s in standings if timed and s.private is not None and s.timing is None]
    if untimed:
        notes.append(f"without a timing of ours, efficiency ×1: {', '.join(untimed)}")
    notes += [told for name, (timing, _) in timed.items() if (told := timing.warning(name))]
    for name, (timing, claimed) in timed.items():
        measured = timing.milliseconds_per_image
        if claimed and claimed.milliseconds_per_image < measured / 2:
            claim = f"{name} claims {claimed.milliseconds_per_image:.3g} ms an image"
            notes.append(f"{claim}; {measured:.3g} ms were measured")
    without = [s.name for s in standings if s.private is None]
    if without:
        notes.append(f"no answers on the holdout, not in the private tables: {', '.join(without)}")
    if rules.strict_rubric:
        notes.append("strict rubric: between 10 and 15 % of inference times no multiplier is earned")
    return notes
