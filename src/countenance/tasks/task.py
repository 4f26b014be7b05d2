"""The definition of a task: the question, the type of its answer, and how an answer becomes score rows.

A new task is one file that makes a `Task` and one line in `tasks/__init__.py` (or an entry point
`countenance.tasks` in your own package); see docs/extend/task.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from countenance.answers import Answer, Boxes
from countenance.data import Dataset, Sample, Subject
from countenance.data.fit_input import FitInput
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.metrics.readings import CORNERS, Reading
from countenance.tasks.reduce import Reduce

Row = dict[str, Any]
"""One unit that can fail: sample, subject, identity, attributes as `attr.*`, metrics as `m.*`."""


@dataclass(frozen=True)
class Metric:
    """A column of the score table: what it means and which values are better.

    >>> Metric("error", "years off", better="lower", headline=True, delta=2.0).better
    'lower'
    """

    name: str
    meaning: str
    better: Literal["higher", "lower"] | None
    """None: neither way is better, or it is not known which."""
    headline: bool = False
    """Audited and shown first when the user names no metric."""
    delta: float | None = None
    """The smallest difference that matters; None: the audit's own (0.05 for what lies between 0 and 1)."""
    answered: str | None = None
    """The 0/1 metric that is 0 where the model gave no answer, so that a row without a value is missing; the metric's
    own name: every row without a value is. None: a row without a value is outside the metric's denominator."""
    among: tuple[str, tuple[str, ...]] | None = None
    """An attribute and its values: whom the metric is about. Images that failed are missing for these people alone."""
    published: str | None = None
    """The name that a protocol published it under: used in its files and on its page, understood in `--metric`."""
    of_groups: bool = False
    """Rows do not have it: the task's reducer gives it for groups, as numbers that say how they are `audited`."""
    noun: str = ""
    """What pages call it ("faces found"); empty: its name. The three words after it are those of a 0/1 metric."""
    verb: str = ""
    """What the model does to the people it fails, such as "misses"."""
    failed: str = ""
    """What happened to them: "missed"."""
    right: str = ""
    """What happened to the others: "found"."""


def metric_of(name: str, metrics: Sequence[Metric]) -> Metric | None:
    """The metric of that name; of one part of a metric (`F1 hair`) the metric itself, under the name of the part.

    >>> f1 = Metric("F1", "mean over labels", "higher", headline=True, delta=0.1)
    >>> metric_of("F1 hair", [f1])
    Metric(name='F1 hair', meaning='mean over labels: hair', better='higher', headline=False, delta=0.1, ...)
    >>> metric_of("age", [f1])
    """
    known = {metric.name: metric for metric in metrics}
    if name in known:
        return known[name]
    whole, _, part = name.partition(" ")
    if not part or whole not in known:
        return None
    meaning, better, delta = known[whole].meaning, known[whole].better, known[whole].delta
    return Metric(name, f"{meaning}: {part}", better, delta=delta)


ADDING_RESULTS: dict[str, Any] = {"adds": "results"}


def adding_results(default: Any) -> Any:
    """The default of an option that adds results of the whole run without changing rows."""
    return Field(default, json_schema_extra=ADDING_RESULTS)


class Options(BaseModel):
    """Base class of the options of a task: fields with defaults; unknown names are refused.

    A field marked with `adding_results` changes no row, so that runs with and without it are comparable.

    >>> class OwnOptions(Options):
    ...     threshold: float = 0.5
    >>> OwnOptions(threshold=0.7).threshold
    0.7
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of_rows(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options that rows depend on."""
        adding = {name for name, field in cls.model_fields.items() if field.json_schema_extra == ADDING_RESULTS}
        return {name: value for name, value in options.items() if name not in adding}


@dataclass(frozen=True)
class Context:
    """Facts of a run that a single image does not have."""

    reading: Reading = CORNERS
    """What the four numbers of a model's boxes are."""
    attributes: frozenset[str] | None = None
    """The attributes that people of the dataset have; None where that is not known."""

    @classmethod
    def of(cls, samples: Sequence[Sample], reading: Reading = CORNERS) -> "Context":
        """The context of a run over these samples."""
        return cls(reading, frozenset(name for s in samples for subject in s.people for name in subject.attributes))


CONTEXT = Context()


class Refused(ValueError):
    """An answer that was understood but is not valid; `answer` is the understood value."""

    def __init__(self, problem: str, answer: Answer) -> None:
        super().__init__(problem)
        self.answer = answer


def no_notes(samples: Sequence[Sample], answers: Mapping[str, Any], context: Context) -> list[str]:
    """No notes: the default, for which no prediction is read."""
    return []


@dataclass(frozen=True)
class Task:
    """A question that can be asked about an image.

    `coerce` turns a model's return value into an answer, `score` an answer into rows; `metrics` are the columns
    `m.NAME`.

    >>> import countenance as ct
    >>> def bare(sample, answer):
    ...     return [ct.subject_row(sample, None) | {"m.bare": float(answer.values["masked"] == "no")}]
    >>> metrics = (ct.Metric("bare", "share of faces without a mask", better=None, headline=True),)
    >>> task = ct.Task("bare", "How many faces wear no mask?", ct.Labels, metrics, coerce=ct.Labels, score=bare)
    >>> run = ct.evaluate(lambda images: [{"masked": "no"} for image in images], task, "people:portraits", limit=4)
    >>> run.scores()["m.bare"].to_pylist()
    [1.0, 1.0, 1.0, 1.0]
    """

    name: str
    question: str
    answer: type[Any]
    metrics: tuple[Metric, ...]
    coerce: Callable[[Any], Answer]
    """From what a model returned to this task's answer; raises ValueError with a phrase when it cannot."""
    score: Callable[[Sample, Any], list[Row]]
    """The score rows of one image."""
    asks: Callable[[Sample], bool] = lambda sample: True
    """Whether the question makes sense for an image (its truth is there)."""
    reduce: Reduce | None = None
    """What only the whole run shows: pairs, ranks, curves, average precision."""
    fit_input: Callable[[Dataset], FitInput] | None = None
    """What models with `fit(context)` are fitted on before they predict; None: nothing."""
    needs: tuple[str, ...] = ()
    """What a model must find for this question (`face`, `person`, `embedding`, …), any of these; empty: unknown."""
    refuse: Callable[[Any, Sample, Context], str | None] = lambda answer, sample, context: None
    """Why a valid answer cannot be used in this run, or None."""
    notes: Callable[[Sequence[Sample], Mapping[str, Any], Context], list[str]] = no_notes
    """Sentences about answers that look like a mistake (boxes in another reading, a misspelt word)."""
    options: Options | None = None
    """The options in force; None for a task that has none."""
    make: Callable[[Any], "Task"] | None = None
    """The task with other options."""
    curve: Callable[[Sequence[float]], tuple[Sequence[float], Sequence[float]]] | None = None
    """A curve over the rows of a group (thresholds and values), from the column `curve_of`."""
    curve_of: str | None = None
    curve_axes: tuple[str, str] = ("threshold", "value")
    versions: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None
    """`module:attr`, where the task was named so."""

    def check(self, raw: Any, sample: Sample, context: Context = CONTEXT) -> Answer:
        """The validated answer for a sample; ValueError with the reason when it is not valid."""
        answer = self.coerce(raw)
        if isinstance(answer, Boxes) and context.reading != CORNERS:
            answer = answer.read_as(context.reading, sample.width, sample.height)
        problem = answer.problem(sample.width, sample.height) or self.refuse(answer, sample, context)
        if problem:
            raise Refused(problem, answer)
        return answer

    def metric(self, name: str) -> Metric | None:
        """The metric of that name, if the task declares it."""
        return next((metric for metric in self.metrics if metric.name == name), None)

    def configured(self, options: Mapping[str, Any] | None) -> "Task":
        """This task with the options given; InputError names an unknown option or one out of range."""
        if not options:
            return self
        if self.options is None or self.make is None:
            raise InputError(f"task {self.name!r} has no options; it was given {', '.join(options)}")
        known = list(type(self.options).model_fields)
        for name in options:
            if name not in known:
                raise InputError(
                    f"task {self.name!r}: no option {name!r}{near(name, known)}; there are {', '.join(known)}"
                )
        try:
            settings = type(self.options).model_validate(self.options.model_dump() | dict(options))
        except ValidationError as error:
            first = error.errors()[0]
            place = "".join(f" option {part}:" for part in first["loc"][:1])
            reason = str(first["msg"]).removeprefix("Value error, ")
            raise InputError(f"task {self.name!r}:{place} {reason}") from None
        return self if settings == self.options else replace(self.make(settings), source=self.source)


def subject_row(sample: Sample, subject: Subject | None) -> Row:
    """The first columns of a row: its subject, and every attribute of the person and the image.

    Returns `sample`, `subject`, `identity` and `attr.NAME`; a row about the whole image (no `subject`) has the
    attributes of the image alone. It raises nothing.

    >>> import countenance as ct
    >>> person = ct.Subject("0", identity="ann", attributes={"gender": "woman"})
    >>> subject_row(ct.Sample("a", ct.ArrayImage([]), 64, 48, (person,)), person)
    {'sample': 'a', 'subject': '0', 'identity': 'ann', 'attr.gender': 'woman'}
    """
    row: Row = {
        "sample": sample.id,
        "subject": None if subject is None else subject.id,
        "identity": None if subject is None else subject.identity,
    }
    row |= {f"attr.{name}": value for name, value in sample.attributes.items()}
    if subject is not None:
        row |= {f"attr.{name}": value for name, value in subject.attributes.items()}
    return row
