"""The names of the files of a run, and the properties of a file by its name."""

import re

from countenance.run.hashes import FILES, digest

MANIFEST, LOCAL = "run.json", "local.json"
SCORES, FAILURES, RESULTS = "scores.parquet", "failures.parquet", "results.json"
EVIDENCE = "evidence.state"
"""The arrays that the results were made from, where a reducer hands them over."""
FINDINGS, AUDIT = "findings.parquet", "audit.json"
REPORT, PAGES = "report.html", "pages.json"
JOURNAL = "purge.json"
"""What a purge is going to do; it is there only while the purge is under way."""
ANSWERS, SHARDS, WORK, MANY_SCORES = "answers/", "shards/", "work/", "scores/"
STATE = ".state"
"""How the name of a reducer's state ends."""
THUMBNAILS = "thumbnails/"
"""Small pictures that the viewer made. They can be made again at any time, so they have no hash."""
VIEWED = "viewed.jsonl"
"""When and by whom the faces of real people were shown in the viewer."""
VIEWS = "views.json"
"""Views that somebody saved in the viewer, with their names."""
FIT = "fit.json"
"""What a model that was fitted first said about it."""
QUESTIONS = "questions.json"
"""The different questions that audits have asked about the run's scores."""
UNSEALED = (LOCAL, FILES, JOURNAL, VIEWED, VIEWS, QUESTIONS)
"""Files that have no hash: they differ from machine to machine, hold the hashes, or are there for a moment."""
COMPLETED = (SCORES, FAILURES, RESULTS, EVIDENCE, FINDINGS, AUDIT)
"""Files that only a finished run has; its list of hashes is written after them."""
OWN_FILES = (
    MANIFEST,
    LOCAL,
    FILES,
    SCORES,
    FAILURES,
    RESULTS,
    EVIDENCE,
    FINDINGS,
    AUDIT,
    REPORT,
    PAGES,
    JOURNAL,
    VIEWED,
    VIEWS,
    QUESTIONS,
    FIT,
)
OWN_NAMES = re.compile(r"(?:answers|shards|work|scores)/\d{5}[\w.-]*\.(?:parquet|json|state)|thumbnails/[\w.-]+\.jpg")
"""Names of files that this package writes into folders of a run."""


def is_own(name: str) -> bool:
    """Whether a file has a name that this package writes into runs; others may be on the list of hashes.

    >>> is_own("scores.parquet"), is_own("answers/00012.parquet"), is_own("notes.txt"), is_own("answers/mine.parquet")
    (True, True, False, False)
    """
    return name in OWN_FILES or OWN_NAMES.fullmatch(name) is not None


def is_table(name: str) -> bool:
    """Whether a file is a table that this package writes into runs."""
    return is_own(name) and name.endswith(".parquet")


def is_sealable(name: str) -> bool:
    """Whether a file is a part of the run, whose hash is kept."""
    return name not in UNSEALED and not name.startswith((THUMBNAILS, WORK))


def thumbnails_of(sample: str) -> str:
    """The beginning of the names of a sample's thumbnails; they do not reveal the sample.

    >>> thumbnails_of("a.png")
    'thumbnails/7f071235805fbf58a252'
    """
    return THUMBNAILS + digest(sample.encode("utf-8", "surrogatepass"))[:20]


def marker_name(number: int) -> str:
    return f"{SHARDS}{number:05d}.json"


def answers_name(number: int) -> str:
    return f"{ANSWERS}{number:05d}.parquet"


def work_rows(number: int) -> str:
    return f"{WORK}{number:05d}.scores.parquet"


def work_state(number: int) -> str:
    return f"{WORK}{number:05d}{STATE}"


def remedy_of(name: str) -> str:
    """The remedy where a file is missing or damaged."""
    if name in (FINDINGS, AUDIT):
        return "`countenance audit RUN` writes it"
    return "the same `countenance run` command makes it again"
