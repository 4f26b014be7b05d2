"""The leaderboard: every submission scored again from its answers, ranked by paired differences, public and private.

Public: Score₁ on the test. Private: Score₂ on the holdout, from randomness and efficiency too. The organiser's machine
decides: entries are run here on test and holdout, and their own answers count. Answers that an entry does not give are
rejected, answers without an entry are unverified and win nothing, and a submission's own claims of score or speed are
never used. Ranks are by score; each entry is also compared with the first. Only one entry of each crew is ranked, the
best on the public test: if the holdout chose it, the luckiest of many entries would win. An entry with the same answers
on the holdout as an earlier entry of another crew is a copy, and is not ranked.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from countenance.auditing.ranking import Pair, Ranking
from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, ClassTable, Truth
from countenance.errors import InputError
from countenance.suites.bias_bounty.contest import Contest, counting, parse_time
from countenance.suites.bias_bounty.counted_answers import counted_answers, run_splits, with_nonfaces
from countenance.suites.bias_bounty.entry import KINDS
from countenance.suites.bias_bounty.entry_runs import OTHERWISE, EntryLimits, EntryRun, counted_timings
from countenance.suites.bias_bounty.inference_timing import PASSES
from countenance.suites.bias_bounty.pairing import rank_predictions
from countenance.suites.bias_bounty.prizes import Prize, award
from countenance.suites.bias_bounty.rules import efficiency, score2
from countenance.suites.bias_bounty.scoring import Draws, Score, score_tables
from countenance.suites.bias_bounty.submissions import SUBMISSION, TIMING, Handed, earlier, times
from countenance.suites.bias_bounty.timing import ENTRY, Timing, read_timing
from countenance.tasks.results import Number

GROUPS: Mapping[str, Sequence[str]] = {"all": KINDS, "supervised": KINDS[:2], "unsupervised": KINDS[2:]}
SPLITS = {"public": "test", "private": "holdout"}

HIDDEN = "its answers on the private holdout cannot be scored; ask the organisers"
"""The text shown for a rejected entry whose reason would reveal something about the holdout."""

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
    """The timing in the submission; it is shown but not used."""
    efficiency: float = 1.0
    verified: bool = False
    """Whether the answers on the holdout are those of the entry, run here."""
    copy_of: str = ""
    """An entry of another crew that was handed in before and answers the holdout alike."""

    @property
    def crew(self) -> str:
        """The crew that handed it in."""
        return self.handed.crew or self.name

    @property
    def factor(self) -> float:
        """The factor of Score₁ on the private board."""
        return score2(1.0, self.private.multiplier if self.private else 1.0, self.efficiency)

    def score(self, which: str) -> Number | None:
        """The score for the ranking: Score₁ on the test, or Score₂ on the holdout with its interval."""
        if which == "public" or self.private is None:
            return self.public.first if which == "public" else None
        first = self.private.first
        scaled = {part: getattr(first, part) * self.factor for part in ("value", "low", "high")}
        return first.model_copy(update={"name": "Score₂"} | scaled)

    def to_json(self) -> dict[str, Any]:
        second, shown = self.score("private"), self.timing or self.claimed
        facts = {"number", "submitted", "score", "code_sha256"}
        return {
            "kind": self.handed.kind,
            "crew": self.crew,
            "verified": self.verified,
            "copy_of": self.copy_of,
            "labels_used": self.handed.labels_used,
            "submissions": len(self.history) + 1,
            "history": [submission.model_dump(include=facts) for submission in self.history],
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
    """A row of a table: rank by score, and the entry's comparison with the first."""

    rank: int
    tied: bool
    standing: BoardEntry
    score: Number
    behind: Pair | None
    """The comparison with the table's first entry; None for that entry itself."""

    def to_json(self) -> dict[str, Any]:
        handed, score = self.standing.handed, self.score
        return {
            "rank": self.rank,
            "tied": self.tied,
            "name": self.standing.name,
            "crew": self.standing.crew,
            "kind": handed.kind,
            "verified": self.standing.verified,
            "labels_used": handed.labels_used,
            "score": score.value,
            "interval": [score.low, score.high],
            "behind_first": self.behind and vars(self.behind),
        }


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
    """The truth with which each table is scored."""
    contest: Contest = field(default_factory=Contest)

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
        """The board of one table alone: `public` has no results of the holdout, `private` has the prizes."""
        rankings = {key: ranking for key, ranking in self.rankings.items() if key[0] == which}
        if which == "private":
            return replace(self, standings=tuple(s for s in self.standings if s.private is not None), rankings=rankings)
        standings = tuple(replace(s, private=None, timing=None, efficiency=1.0, copy_of="") for s in self.standings)
        rejected = {name: HIDDEN if "holdout" in why else why for name, why in self.rejected.items()}
        return replace(self, standings=standings, rankings=rankings, rejected=rejected, notes=(), prizes=())

    def to_json(self) -> dict[str, Any]:
        tables: dict[str, dict[str, Any]] = {}
        for (which, group), ranking in self.rankings.items():
            tables.setdefault(which, {})[group] = [row.to_json() for row in self.places(which, group)]
            tables.setdefault(f"{which}_pairs", {})[group] = [vars(pair) for pair in ranking.pairs]
        return {
            "contest": self.contest.model_dump(),
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
    """Time every entry now; otherwise earlier timings of the same entries on the same images count."""
    passes: int = PASSES
    limits: EntryLimits = field(default_factory=EntryLimits)
    """What an entry may use when it is run here."""


def rank(board: Path, data: Path, rules: Rules = Rules(), step: Step = lambda *_: None) -> Board:
    """Run every entry on the holdout, score every submission and rank; invalid ones are rejected with a reason."""
    contest, notes = Contest.read(board), list[str]()
    splits = {
        which: Truth.of_split(data, split) for which, split in SPLITS.items() if (data / split / "labels.csv").exists()
    }
    if "public" not in splits:
        raise InputError(f"{data / 'test' / 'labels.csv'}: no such file; data= is the challenge's folder")
    private = f"{board}/", ""  # the organiser's path is not published
    folders, rejected = _counting(board, contest, notes)
    entries = {name: place / ENTRY for name, place in folders.items() if (place / ENTRY).is_dir()}
    there = [SPLITS[which] for which in splits]
    limits, passes = rules.limits, rules.passes
    runs = run_splits(board, data, entries, there, time=rules.time, passes=passes, limits=limits, step=step)
    known = {which: with_nonfaces(truth, data, SPLITS[which]) for which, truth in splits.items()}
    standings = []
    for name, place in folders.items():
        own = {which: runs[split][name] for which, split in SPLITS.items() if name in runs.get(split, {})}
        try:
            standings.append(_standing(name, place, board / name, known, rules, own, notes, contest))
        except InputError as error:
            rejected[name] = str(error).replace(*private).removeprefix(f"{name}: ")
    standings = _with_copies(standings)
    timings, stale = counted_timings({s.name: runs["holdout"][s.name] for s in standings if s.verified})
    ranked = _with_efficiency(standings, timings, rules.strict_rubric)
    rankings = {
        (which, group): ranking
        for which, split in splits.items()
        for group, kinds in GROUPS.items()
        if (ranking := _ranking(ranked, which, kinds, split, rules)) is not None
    }
    texts = tuple(note.replace(*private) for note in (*notes, *stale, *_notes(ranked, rules)))
    prizes = award(ranked, rankings)
    return Board(ranked, rejected, texts, rankings, prizes, rules.strict_rubric, splits, contest)


def _counting(board: Path, contest: Contest, notes: list[str]) -> tuple[dict[str, Path], dict[str, str]]:
    """The folder of the counted submission by name, and the reasons why others are rejected."""
    folders, rejected = {}, {}
    for folder in submission_folders(board):
        try:
            counted = counting(folder, times(folder), contest) if contest.opens or contest.closes else None
        except InputError as error:
            rejected[folder.name] = str(error).replace(f"{board}/", "")
            continue
        if counted is None or counted.folder is not None:
            folders[folder.name] = folder if counted is None else counted.folder or folder
            notes += [counted.note] if counted and counted.note else []
        else:
            rejected[folder.name] = counted.note
    return folders, rejected


def _with_efficiency(
    standings: Sequence[BoardEntry], timings: Mapping[str, Timing], strict_rubric: bool
) -> tuple[BoardEntry, ...]:
    """Entries with their multipliers: the percentile of each among the counted entries of other crews."""
    timed = [entry for entry in standings if entry.name in timings and entry.private is not None]
    counted = of_crews(timed, "private").items()
    times_of_crews = {crew: timings[standing.name].milliseconds_per_image for crew, standing in counted}
    result = []
    for standing in standings:
        multiplier = 1.0
        if timing := timings.get(standing.name):
            others = [time for crew, time in times_of_crews.items() if crew != standing.crew]
            multiplier = efficiency([*others, timing.milliseconds_per_image], strict_rubric=strict_rubric)[-1]
        result.append(replace(standing, timing=timings.get(standing.name), efficiency=multiplier))
    return tuple(result)


def of_crews(standings: Sequence[BoardEntry], which: str) -> dict[str, BoardEntry]:
    """The counted entry of each crew: the best on the public test, or the first submitted of equal ones.

    The private tables use the same entry; entries that were run here come before answers without an entry. The holdout
    does not choose, since the best of many entries is best by chance.
    """

    def merit(standing: BoardEntry) -> tuple[bool, float]:
        score = standing.public.first.value
        return which == "private" and standing.verified, -float("inf") if np.isnan(score) else score

    best: dict[str, BoardEntry] = {}
    for standing in sorted(standings, key=_when):
        if standing.copy_of or standing.score(which) is None or which not in standing.answers:
            continue
        other = best.get(standing.crew)
        if other is None or merit(standing) > merit(other):
            best[standing.crew] = standing
    return best


def _ranking(
    standings: Sequence[BoardEntry], which: str, kinds: Sequence[str], truth: Truth, rules: Rules
) -> Ranking | None:
    """The ranking of one table, with the counted entry of each crew among those of the kinds; None without entries."""
    counted = of_crews([standing for standing in standings if standing.handed.kind in kinds], which).values()
    if not counted:
        return None
    answers = {standing.name: standing.answers[which] for standing in counted}
    factors = {standing.name: standing.factor for standing in counted} if which == "private" else {}
    return rank_predictions(truth, answers, rules.draws, factors)


def submission_folders(board: Path) -> list[Path]:
    """The folders of a board's submissions; a board without submissions is refused."""
    folders = sorted(path.parent for path in board.glob(f"*/{SUBMISSION}"))
    if not folders:
        raise InputError(f"{board}: no submissions; `countenance bias-bounty submit` hands one in")
    return folders


def _standing(
    name: str,
    folder: Path,
    latest: Path,
    known: Mapping[str, Truth],
    rules: Rules,
    runs: Mapping[str, EntryRun],
    notes: list[str],
    contest: Contest,
) -> BoardEntry:
    """An entry with its score, computed from its answers on this machine."""
    handed, claimed = Handed.read(folder), None
    if why := contest.why_not(handed.crew or name, 0):
        raise InputError(f"{name}: {why}")
    answers: dict[str, ClassTable] = {}
    for which, truth in known.items():
        table = counted_answers(name, folder / f"{SPLITS[which]}.csv", truth, runs.get(which))
        answers |= {} if table is None else {which: table}
    # Randomness is scored on the holdout alone: the challenge does not publish the non-faces of the test.
    truths = {which: truth if which == "private" else replace(truth, nonfaces=()) for which, truth in known.items()}
    scores = {which: score_tables(truths[which], table, rules.draws) for which, table in answers.items()}
    if (folder / TIMING).exists():
        try:
            claimed = read_timing(folder / TIMING, folder / ENTRY if (folder / ENTRY).is_dir() else None)
        except InputError as error:
            notes.append(str(error))
    if handed.entry_added and contest.why_closed(parse_time(handed.entry_added, f"{name}: entry_added")):
        notes.append(f"{name}: its entry was added at {handed.entry_added}, after the contest closed")
    both = scores["public"], scores.get("private")
    history = earlier(latest)[: handed.number - 1]
    verified = "private" in runs and "private" in answers
    return BoardEntry(name, handed, *both, answers=answers, history=history, claimed=claimed, verified=verified)


def _when(standing: BoardEntry) -> tuple[str, str]:
    return standing.handed.submitted, standing.name


def _with_copies(standings: Sequence[BoardEntry]) -> list[BoardEntry]:
    """Entries; those with the same holdout answers as an earlier entry of another crew are marked as copies."""
    result, originals = dict[str, BoardEntry](), list[BoardEntry]()
    for standing in sorted(standings, key=_when):
        copied = (entry.name for entry in originals if entry.crew != standing.crew and _same_answers(entry, standing))
        result[standing.name] = replace(standing, copy_of=next(copied, ""))
        originals += [] if result[standing.name].copy_of else [standing]
    return [result[standing.name] for standing in standings]


def _same_answers(first: BoardEntry, second: BoardEntry) -> bool:
    """Whether two entries give the same answers on the holdout, except on as few images as rounding may change."""
    tables = first.answers.get("private"), second.answers.get("private")
    if tables[0] is None or tables[1] is None:
        return False
    names = tables[0].names
    rows = [table.rows(names) for table in tables if table is not None]
    other = np.any([rows[0][name] != rows[1][name] for name in ATTRIBUTES], axis=0)
    return int(other.sum()) <= OTHERWISE * len(names)


def _notes(standings: Sequence[BoardEntry], rules: Rules) -> list[str]:
    notes = []
    timed = {s.name: (s.timing, s.claimed) for s in standings if s.timing is not None}
    if not timed:
        notes.append("no entry was timed by this leaderboard, efficiency ×1 for all: time=True measures them here")
    elif len(timed) < 10:
        many = "1 timed entry" if len(timed) == 1 else f"{len(timed)} timed entries"
        notes.append(f"{many}: with fewer than 10 the top 10 % is empty by the literal rule, and no entry earns ×1.2")
    untimed = [s.name for s in standings if timed and s.private is not None and s.timing is None]
    if untimed:
        notes.append(f"without a timing of ours, efficiency ×1: {', '.join(untimed)}")
    unverified = [s.name for s in standings if s.private is not None and not s.verified]
    if unverified:
        notes.append(f"answers without an entry that could be run here, unverified, no prize: {', '.join(unverified)}")
    notes += [text for name, (timing, _) in timed.items() if (text := timing.warning(name))]
    for name, (timing, claimed) in timed.items():
        measured = timing.milliseconds_per_image
        if claimed and claimed.milliseconds_per_image < measured / 2:
            claim = f"{name} claims {claimed.milliseconds_per_image:.3g} ms an image"
            notes.append(f"{claim}; {measured:.3g} ms were measured")
    notes += [
        f"{s.name} answers the holdout as {s.copy_of} of another crew, which was handed in before: a copy, not ranked"
        for s in standings
        if s.copy_of
    ]
    without = [s.name for s in standings if s.private is None]
    if without:
        notes.append(f"no answers on the holdout, not in the private tables: {', '.join(without)}")
    if rules.strict_rubric:
        notes.append("strict rubric: between 10 and 15 % of inference times no multiplier is earned")
    return notes
