"""The leaderboard: every submission scored again from its answers, ranked by paired differences, public and private.

Public: Score₁ on the test. Private: Score₂ on the holdout, from randomness and efficiency too. What a submission says
of its own score or speed is kept but never used: only `leaderboard --time` earns an efficiency multiplier.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from countenance.audit.ranking import Pair, Ranking
from countenance.errors import InputError
from countenance.metrics.bounty import efficiency, score2
from countenance.suites.bias_bounty.files import ClassTable, Draws, Truth
from countenance.suites.bias_bounty.measured import measured_timings, time_entries
from countenance.suites.bias_bounty.pairing import rank_predictions
from countenance.suites.bias_bounty.prizes import Prize, award
from countenance.suites.bias_bounty.scoring import Score, score_tables
from countenance.suites.bias_bounty.submissions import ENTRY, KINDS, SUBMISSION, TIMING, Handed, earlier, read_object
from countenance.suites.bias_bounty.timing import BUSY, PASSES, Timing, busy_warning, read_timing

GROUPS: Mapping[str, Sequence[str]] = {"all": KINDS, "supervised": KINDS[:2], "unsupervised": KINDS[2:]}
SPLITS = {"public": "test", "private": "holdout"}

HIDDEN = "its answers on the private holdout cannot be scored; ask the organisers"
"""Why an entry was rejected, where the reason would tell something of the holdout."""

Step = Callable[..., None]


@dataclass(frozen=True)
class BoardEntry:
    """One entry on the board."""

    name: str
    kind: str
    public: Score
    private: Score | None = None
    timing: Timing | None = None
    """Measured by the leaderboard."""
    claimed: Timing | None = None
    """Handed in with the submission: shown, and used for nothing."""
    efficiency: float = 1.0
    labels_used: str = ""
    has_entry: bool = False
    history: tuple[Handed, ...] = ()
    """What was handed in under this name before; the latest counts."""
    submitted: str = ""
    code_sha256: str = ""

    @property
    def submissions(self) -> int:
        """How often something was handed in under this name."""
        return len(self.history) + 1

    @property
    def factor(self) -> float:
        """What Score₁ is multiplied with on the private board."""
        return (self.private.multiplier if self.private else 1.0) * self.efficiency

    @property
    def score2(self) -> float | None:
        return None if self.private is None else score2(self.private.score1, self.private.multiplier, self.efficiency)

    @property
    def score2_interval(self) -> tuple[float, float] | None:
        """Score₁'s interval times the multipliers earned."""
        if self.private is None:
            return None
        low, high = self.private.score1_interval
        return low * self.factor, high * self.factor

    def value(self, which: str) -> tuple[float, float, float] | None:
        """The score that ranks this entry, with its interval."""
        if which == "public":
            return self.public.score1, *self.public.score1_interval
        first, bounds = self.score2, self.score2_interval
        return None if first is None or bounds is None else (first, *bounds)


@dataclass(frozen=True)
class BoardRow:
    """A row of a table: entries that the evidence cannot tell apart share a rank."""

    rank: int
    tied: bool
    standing: BoardEntry
    value: float
    low: float
    high: float
    behind: Pair | None
    """The comparison with the table's first entry; None for that entry itself."""


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
    folder: Path = field(default=Path())

    def places(self, which: str, group: str = "all") -> list[BoardRow]:
        """The table `public` or `private` of a group, best first."""
        ranking = self.rankings.get((which, group))
        if ranking is None:
            return []
        by_name = {standing.name: standing for standing in self.standings}
        rows = []
        for name, rank_, tied in zip(ranking.names, ranking.ranks, ranking.tied, strict=True):
            standing = by_name[name]
            value = standing.value(which) or (float("nan"),) * 3
            behind = None if name == ranking.names[0] else ranking.pair(name, ranking.names[0])
            rows.append(BoardRow(rank_, tied, standing, *value, behind))
        return rows

    def part(self, which: str) -> "Board":
        """The board of one table alone: `public` has nothing that comes from the holdout, `private` has the prizes."""
        rankings = {key: ranking for key, ranking in self.rankings.items() if key[0] == which}
        if which == "private":
            return replace(self, standings=tuple(s for s in self.standings if s.private is not None), rankings=rankings)
        standings = tuple(replace(s, private=None, timing=None, efficiency=1.0) for s in self.standings)
        rejected = {name: HIDDEN if "holdout" in why else why for name, why in self.rejected.items()}
        return replace(self, standings=standings, rankings=rankings, rejected=rejected, notes=(), prizes=())

    def to_json(self) -> dict[str, Any]:
        tables: dict[str, Any] = {}
        for (which, group), ranking in self.rankings.items():
            tables.setdefault(which, {})[group] = [
                {
                    "rank": p.rank, "tied": p.tied, "name": p.standing.name, "kind": p.standing.kind,
                    "labels_used": p.standing.labels_used, "score": p.value, "interval": [p.low, p.high],
                }
                for p in self.places(which, group)
            ]  # fmt: skip
            tables.setdefault(f"{which}_pairs", {})[group] = [vars(pair) for pair in ranking.pairs]
        return {
            "tables": tables,
            "prizes": [vars(prize) for prize in self.prizes],
            "entries": {s.name: _entry_json(s) for s in self.standings},
            "rejected": self.rejected,
            "notes": list(self.notes),
            "strict_rubric": self.strict_rubric,
        }


def _entry_json(standing: BoardEntry) -> dict[str, Any]:
    shown = standing.timing or standing.claimed
    return {
        "kind": standing.kind,
        "labels_used": standing.labels_used,
        "submissions": standing.submissions,
        "history": [vars(one) for one in standing.history],
        "submitted": standing.submitted,
        "code_sha256": standing.code_sha256,
        "public": standing.public.to_json(),
        "private": None if standing.private is None else standing.private.to_json(),
        "timing": None if shown is None else shown.model_dump(),
        "timing_measured": standing.timing is not None,
        "efficiency": standing.efficiency,
        "score2": standing.score2,
        "score2_interval": standing.score2_interval,
    }


@dataclass(frozen=True)
class Rules:
    """How a board is ranked."""

    strict_rubric: bool = False
    replicates: int = 2000
    seed: int = 0
    time: bool = False
    """Time every entry here and now; else earlier timings of the same entries on the same images count."""
    passes: int = PASSES

    @property
    def draws(self) -> Draws:
        return Draws(self.replicates, self.seed)


def rank(board: Path, data: Path, rules: Rules | None = None, step: Step = lambda n=1: None) -> Board:
    """Score every submission again and rank; one that cannot be scored is rejected with the reason."""
    chosen = rules or Rules()
    folders = submission_folders(board)
    splits = {which: Truth.of_split(data, split) for which, split in SPLITS.items()
              if (data / split / "labels.csv").exists()}  # fmt: skip
    if "public" not in splits:
        raise InputError(f"{data / 'test' / 'labels.csv'}: no such file; --data is the challenge's folder")
    standings, answers, rejected = [], {}, {}
    notes: list[str] = []
    for folder in folders:
        try:
            standing, answers[folder.name] = _standing(folder, splits, chosen, notes)
            standings.append(standing)
        except InputError as error:
            rejected[folder.name] = str(error)
    entries = {s.name: board / s.name for s in standings if s.private is not None and s.has_entry}
    if chosen.time:
        notes += time_entries(board, entries, data / "holdout", passes=chosen.passes, step=step)
    timings, stale = measured_timings(board, entries, data / "holdout")
    multipliers = efficiency([t.milliseconds_per_image for t in timings.values()], strict_rubric=chosen.strict_rubric)
    earned = dict(zip(timings, multipliers, strict=True))
    ranked = tuple(replace(s, timing=timings.get(s.name), efficiency=earned.get(s.name, 1.0)) for s in standings)
    rankings = _rankings(ranked, answers, splits, chosen)
    told = (*notes, *stale, *_notes(ranked, chosen))
    return Board(ranked, rejected, told, rankings, award(ranked, rankings), chosen.strict_rubric, board)


def submission_folders(board: Path) -> list[Path]:
    """The folders of a board's submissions; refused where there is none."""
    found = sorted(path.parent for path in board.glob(f"*/{SUBMISSION}"))
    if not found:
        raise InputError(f"{board}: no submissions; `countenance bias-bounty submit` hands one in")
    return found


def _standing(
    folder: Path, splits: Mapping[str, Truth], rules: Rules, notes: list[str]
) -> tuple[BoardEntry, dict[str, ClassTable]]:
    """An entry scored, and its predictions for each table."""
    said = read_object(folder / SUBMISSION)
    kind = said.get("kind")
    if kind not in KINDS:
        raise InputError(f"{folder / SUBMISSION}: kind is {kind!r}, expected one of {', '.join(KINDS)}")
    tables, scores = {}, {}
    for which, split in splits.items():
        file = folder / f"{SPLITS[which]}.csv"
        if which == "public" or file.exists():
            tables[which] = split.predictions(file)
            scores[which] = score_tables(split, tables[which], rules.draws)
    claimed, model = None, folder / ENTRY if (folder / ENTRY).is_dir() else None
    if (folder / TIMING).exists():
        try:
            claimed = read_timing(folder / TIMING, model)
        except InputError as error:
            notes.append(str(error))
    standing = BoardEntry(
        folder.name, str(kind), scores["public"], scores.get("private"), claimed=claimed,
        labels_used=str(said.get("labels_used") or ""), has_entry=model is not None,
        history=earlier(folder),
        submitted=str(said.get("submitted") or ""), code_sha256=str(said.get("code_sha256") or ""),
    )  # fmt: skip
    return standing, tables


def _rankings(
    standings: Sequence[BoardEntry],
    answers: Mapping[str, Mapping[str, ClassTable]],
    splits: Mapping[str, Truth],
    rules: Rules,
) -> dict[tuple[str, str], Ranking]:
    found = {}
    for which, split in splits.items():
        for group, kinds in GROUPS.items():
            own = [s for s in standings if s.kind in kinds and which in answers[s.name]]
            if own:
                said = {s.name: answers[s.name][which] for s in own}
                factors = {s.name: s.factor for s in own} if which == "private" else None
                found[which, group] = rank_predictions(split, said, rules.draws, factors)
    return found


def _notes(standings: Sequence[BoardEntry], rules: Rules) -> list[str]:
    notes = []
    timed = [s for s in standings if s.timing is not None]
    if not timed:
        notes.append("no entry was timed by this leaderboard, efficiency ×1 for all: --time measures them here")
    elif len(timed) < 10:
        many = "1 timed entry" if len(timed) == 1 else f"{len(timed)} timed entries"
        notes.append(f"{many}: with fewer than 10 the top 10 % is empty by the literal rule, and no entry earns ×1.2")
    untimed = [s.name for s in standings if timed and s.private is not None and s.timing is None]
    if untimed:
        notes.append(f"without a timing of ours, efficiency ×1: {', '.join(untimed)}")
    notes += [busy_warning(s.timing, s.name) for s in timed if s.timing and s.timing.busy > BUSY]
    for s in timed:
        if s.timing and s.claimed and s.claimed.milliseconds_per_image < s.timing.milliseconds_per_image / 2:
            notes.append(
                f"{s.name} claims {s.claimed.milliseconds_per_image:.3g} ms an image; "
                f"{s.timing.milliseconds_per_image:.3g} ms were measured"
            )
    without = [s.name for s in standings if s.private is None]
    if without:
        notes.append(f"no answers on the holdout, not in the private tables: {', '.join(without)}")
    if rules.strict_rubric:
        notes.append("strict rubric: between 10 and 15 % of inference times no multiplier is earned")
    return notes
