"""HappyFaces as a value: its data, its task, its methods as models, its section of the report."""

from dataclasses import replace
from typing import Any

from markupsafe import Markup

from countenance.data.adapters.happyfaces import CITATION, CONSENT, LICENCE, HappyFacesDataset
from countenance.errors import InputError
from countenance.run.run import Run
from countenance.run.suite import Section, Suite, SuiteRequest, SuiteTask
from countenance.suites.happyfaces.model import MethodModel, method_card, published_name
from countenance.suites.happyfaces.runs import record_of
from countenance.suites.happyfaces.task import QUESTION, USES_BATCH, HappyFacesOptions


def _prepare(request: SuiteRequest) -> SuiteRequest:
    """The request with the named method as its model; saved predictions are unchanged."""
    if not isinstance(request.dataset, HappyFacesDataset):
        raise InputError(f"suite happyfaces needs data=happyfaces:FOLDER, found the dataset {request.dataset.name!r}")
    options = request.task.options
    assert isinstance(options, HappyFacesOptions)
    features = {"features": request.dataset.data.features}
    arguments = {"seed": options.seed, **request.arguments}
    if isinstance(request.model, str) and request.model.startswith(("predictions:", "answers:")):
        return replace(request, task=request.task.configured(features), arguments=arguments)
    method: Any = request.model or options.method
    task = request.task.configured(features | {"method": published_name(method)})
    arguments |= {"card": method_card(method, options.method_options)}
    return replace(
        request, model=MethodModel(method, options.seed, options.method_options), task=task, arguments=arguments
    )


def _sections(source: Any) -> list[Section]:
    """The section on the method's own notes: its estimated mix rate, and how it reached its answer."""
    record = record_of(source.run)
    estimate, way = record["notes"].get("estimated_mix_rate"), record["notes"].get("way")
    sentences = [f"Method {record['method']}, seed {record['seed']}."]
    if record["mix_rate"] is not None:
        sentences.append(f"The mix rate of the photos that it was fitted on is {record['mix_rate']:g}.")
    if isinstance(estimate, int | float):
        sentences.append(f"It estimates {estimate:.3f}.")
    if isinstance(way, str):
        sentences.append(f"It answered by {way}.")
    if record.get("uses_batch"):
        sentences.append("It uses its batch: the answer to a photo depends on the other photos beside it.")
    return [("happyfaces-method", "The method", Markup("<p>{}</p>").format(" ".join(sentences)))]


def _remark(run: Run) -> str:
    """Whether a method uses the other photos of a batch; of predictions made elsewhere it is not known."""
    if not any(result.name == USES_BATCH for result in run.results()):
        return "was predicted elsewhere: use of the batch unknown"
    return "uses its batch" if record_of(run).get("uses_batch") else ""


HAPPYFACES = Suite(
    name="happyfaces",
    question=QUESTION,
    citation=CITATION,
    licence=LICENCE,
    consent=CONSENT,
    datasets=("happyfaces",),
    tasks=(SuiteTask("happyfaces"),),
    audit={"depth": 1, "adjust": "holm"},
    prepare=_prepare,
    remark=_remark,
    sections=_sections,
)
