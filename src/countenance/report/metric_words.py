"""The words for metrics on pages: a short noun, and for a 0/1 metric the words for a failure.

A task of another package gives its metrics their own words (`Metric.noun` and the words after it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from countenance.tasks import Metric, Task


@dataclass(frozen=True)
class MetricWords:
    """The words of a metric.

    >>> words = MetricWords("faces found", "misses", "missed", "found")
    >>> f"{words.noun}: 192 of 200; it {words.verb} 8 people, 8 {words.failed}"
    'faces found: 192 of 200; it misses 8 people, 8 missed'
    """

    noun: str
    verb: str = "fails"
    failed: str = "failed"
    right: str = "right"
    share: str = ""
    """What a row's score is a share of, such as "true matches"."""
    each: str = ""
    """What the shares are averaged over, where the page also counts all of them together."""
    meaning: str = ""
    """The same in full, for the line below; empty: the task's own sentence."""


FACES = MetricWords(
    "faces found",
    "misses",
    "missed",
    "found",
    meaning="faces found (a predicted box covers the face well: overlap ≥ 0.5)",
)
PEOPLE = MetricWords(
    "people found",
    "misses",
    "missed",
    "found",
    meaning="people found (a predicted box covers the person well: overlap ≥ 0.5)",
)
TIGHT = MetricWords("box fit", meaning="how tightly the box fits, 0 to 1")
OUTLINE = MetricWords("outline fit", meaning="how tightly the outline fits, 0 to 1")
OVERLAP = MetricWords("box overlap", meaning="overlap with the best box, 0 to 1")
FALSE_BOXES = MetricWords("false boxes in a picture")
JOINTS = MetricWords("joints placed right", meaning="joints placed right, a share of those that can be seen")
POSES = MetricWords("pose fit", meaning="how well the pose fits, 0 to 1")
PARTS_SEEN = MetricWords("body parts seen", meaning="body parts that are there and are named, a share")
PARTS_RIGHT = MetricWords("body parts judged right")
NAMED = "correct_"
"""The beginning of metrics of the bias bounty: how often one attribute is named right."""
JUDGED = "_correct"
"""The end of metrics of HappyFaces: how often one feature is judged right."""
_OF_TASK = {
    ("face_localization", "recall@0.5"): FACES,
    ("face_localization", "recall@0.75"): MetricWords("faces boxed tightly", "misses", "missed", "found"),
    ("person_localization", "recall@0.5"): PEOPLE,
    ("person_parsing", "average_recall"): OUTLINE,
    ("person_parsing", "AR_MASK"): OUTLINE,
    ("person_parsing", "best_iou"): MetricWords("overlap with the best outline, 0 to 1"),
    ("uccs_detection", "found"): MetricWords("faces found", "misses", "missed", "found"),
}
_OF_METRIC = {
    "average_recall": TIGHT,
    "AR_IOU": TIGHT,
    "best_iou": OVERLAP,
    "false_positives": FALSE_BOXES,
    "localised": MetricWords("faces found", "misses", "missed", "found"),
    "true_positive": MetricWords("masks seen", "overlooks the mask of", "overlooked", "seen"),
    "true_negative": MetricWords("bare faces judged right", "sees a mask on", "judged wrong", "judged right"),
    "genuine_accepted": MetricWords(
        "true matches accepted", "refuses", "refused", "accepted", "true matches", "picture"
    ),
    "impostor_accepted": MetricWords(
        "wrong matches accepted", "accepts", "accepted", "refused", "wrong matches", "picture"
    ),
    "FMR": MetricWords("taken for somebody else of the same group", "confuses", "confused"),
    "enrolled": MetricWords("pictures enrolled", "fails to enrol", "not enrolled", "enrolled"),
    "identified": MetricWords("known people recognised", "fails to recognise", "not recognised", "recognised"),
    "rank_1": MetricWords("known people ranked first", "fails to rank first", "not ranked first", "ranked first"),
    "false_alarm": MetricWords("strangers taken for somebody", "takes for somebody known", "taken for somebody known"),
    "rejected": MetricWords("strangers passed as nobody", "takes for somebody known", "taken for somebody known"),
    "minor_passed": MetricWords("minors let in", "lets in as adults", "let in", "stopped"),
    "adult_challenged": MetricWords("adults asked for proof", "asks for proof from", "stopped", "let in"),
    "absolute_error": MetricWords("years off"),
    "estimated": MetricWords("ages estimated", "gives no age for", "without an age", "estimated"),
    "correct": MetricWords("named right", "gets wrong", "wrong", "right", "attributes"),
    "PSNR": MetricWords("picture quality", meaning="picture quality in dB (PSNR); identical pictures have 80"),
    "SSIM": MetricWords("likeness", meaning="likeness to the original, 0 to 1 (SSIM)"),
    "PCK": JOINTS,
    "OKS": POSES,
    "AR_OKS": POSES,
    "AR_DET": PARTS_SEEN,
    "ACC_DET": PARTS_RIGHT,
    "F1": MetricWords("pixels of the face named right (F1)"),
    "latency_ms": MetricWords("milliseconds a picture takes"),
}


def _known(metric: str, task: str) -> MetricWords | None:
    """Our words for a task's metric.

    >>> _known("correct_skin_tone", "bias_bounty").verb, _known("smile_correct", "happyfaces").verb
    ('names the wrong skin tone for', 'judges the smile wrong for')
    >>> _known("is_correct", "somebody_else") is None
    True
    """
    if task == "bias_bounty" and metric.startswith(NAMED):
        what = metric.removeprefix(NAMED).replace("_", " ")
        return MetricWords(f"{what} named right", f"names the wrong {what} for", "named wrong", "named right")
    if task == "happyfaces" and metric.endswith(JUDGED):
        what = metric.removesuffix(JUDGED).replace("_", " ")
        return MetricWords(f"{what} judged right", f"judges the {what} wrong for", "judged wrong", "judged right")
    return _OF_TASK.get((task, metric)) or _OF_METRIC.get(metric)


def is_share(metric: str) -> bool:
    """Whether a row's score is a share of something counted, which pages write as percent.

    >>> is_share("genuine_accepted"), is_share("average_recall")
    (True, False)
    """
    known = _OF_METRIC.get(metric)
    return known is not None and bool(known.share)


def noun_of(metric: str) -> str:
    """The noun of a metric that means the same in every task; of others the name.

    >>> noun_of("SSIM"), noun_of("recall@0.5")
    ('likeness', 'recall@0.5')
    """
    known = _OF_METRIC.get(metric)
    return known.noun if known else metric


def noun_in(metric: str, settings: Mapping[str, Any]) -> str:
    """The name of a metric on a comparison's page: the task's noun, or a table's column name.

    >>> noun_in("recall@0.5", {"task": "face_localization"}), noun_in("correct", {"task": ""})
    ('Faces found', 'correct')
    """
    own = settings.get("metric_nouns", {}).get(metric)
    known = _known(metric, settings["task"]) if settings.get("task") else None
    noun = own or (known.noun if known else "")
    return f"{noun[:1].upper()}{noun[1:]}" if noun else metric


def outcome_in(metric: str, settings: Mapping[str, Any]) -> tuple[str, str] | None:
    """The words for a failed and for a served row of a task's 0/1 metric; None if it has none.

    >>> outcome_in("recall@0.5", {"task": "face_localization"})
    ('missed', 'found')
    """
    known = _known(metric, settings["task"]) if settings.get("task") else None
    return (known.failed, known.right) if known and known.failed != "failed" else None


def words_of(metric: Metric, task: Task | None) -> MetricWords:
    """The words of a metric: its own, else ours for the task's metric, else its name.

    >>> words_of(Metric("recall@0.5", "", "higher"), None).noun
    'recall@0.5'
    >>> words_of(Metric("ok", "", "higher", noun="doors opened", verb="locks out"), None).verb
    'locks out'
    """
    if metric.noun:
        plain = MetricWords(metric.noun)
        return MetricWords(
            metric.noun, metric.verb or plain.verb, metric.failed or plain.failed, metric.right or plain.right
        )
    if task is not None and (known := _known(metric.name, task.name)):
        return known
    name = metric.name.replace("_", " ")
    if metric.better == "higher":
        return MetricWords(name, "fails", f"not {name}" if name.isalpha() else "failed", name)
    return MetricWords(name, "fails", name if name.isalpha() else "failed")
