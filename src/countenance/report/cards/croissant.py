"""Croissant: a dataset described for machines (JSON-LD), with counts for each group and fields on its people.

The vocabulary is MLCommons' Croissant 1.0 with its extension for responsible AI (`rai:`). A set of people that
`countenance-people render` made, the shipped one included, also has its two tables described column by column.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from countenance.data import Dataset
from countenance.data.balance import balance
from countenance.files import file_hash, write_json
from countenance.run.licences import names_in
from countenance.text import redacted

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
TYPES = {"int": "sc:Integer", "float": "sc:Float", "double": "sc:Float", "bool": "sc:Boolean"}
URLS = {
    "apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    "mit": "https://opensource.org/license/mit",
    "cc0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "cc-by-4.0": "https://creativecommons.org/licenses/by/4.0/",
}


def croissant(dataset: Dataset, tables: Path | None = None) -> dict[str, Any]:
    """A dataset as Croissant; `tables` is the folder with `samples.parquet` and `subjects.parquet`, if there is one."""
    card = dataset.card
    document: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in redacted(card.name)),
        "description": card.description or card.name,
        "license": [card.licence, *(URLS[name.lower()] for name in names_in(card.licence) if name.lower() in URLS)],
        "version": card.version if card.version.count(".") == 2 else f"{card.version}.0.0",
    }
    document |= {"citeAs": card.citation} if card.citation else {}
    document |= _rai(dataset)
    document["distribution"], document["recordSet"] = [], [_counts(dataset)]
    if tables is not None:
        for name in ("samples", "subjects"):
            document["distribution"].append(_file(tables / f"{name}.parquet"))
            document["recordSet"].append(_record_set(tables / f"{name}.parquet"))
    return document


def write_croissant(dataset: Dataset, out: Path, tables: Path | None = None) -> Path:
    """Write the description of a dataset."""
    write_json(out, croissant(dataset, tables))
    return out


def _rai(dataset: Dataset) -> dict[str, Any]:
    card = dataset.card
    assigned = sorted({about.assigned_by for about in card.attributes.values()})
    thin = [
        f"{name} = {value}: {n}"
        for name, values in balance(dataset).items()
        for value, n in values
        if len(values) > 1 and n < 0.02 * sum(count for _, count in values)
    ]
    some = "; ".join(thin[:20]) + (f"; and {len(thin) - 20} more" if len(thin) > 20 else "")
    rendered = "Rendered: no person was photographed." if not card.real_people else f"Consent: {card.consent}."
    return {
        "rai:dataCollection": f"{(card.description or card.name).rstrip('.')}. {rendered}",
        "rai:dataCollectionType": ["Software Collection"] if not card.real_people else ["Others"],
        "rai:dataAnnotationProtocol": "; ".join(
            f"{name} ({about.assigned_by}): {about.meaning}" for name, about in card.attributes.items()
        )
        or "not stated",
        "rai:annotationsPerItem": "1",
        "rai:dataAnnotationPlatform": ", ".join(assigned) or "not stated",
        "rai:dataUseCases": "Evaluating vision models on images of people, and comparing groups.",
        "rai:dataLimitations": card.warning or "not stated",
        "rai:dataBiases": f"Values with less than 2 % of the people or images: {some}"
        if some
        else "No value has less than 2 % of the people or images.",
        "rai:personalSensitiveInformation": "none: nobody in the pictures exists"
        if not card.real_people
        else f"images of real people with {', '.join(card.attributes) or 'no declared attributes'}",
        "rai:dataReleaseMaintenancePlan": f"Version {card.version}; a changed set has another version and fingerprint.",
    }


def _field(record: str, name: str, kind: str, meaning: str, **further: Any) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{record}/{name}",
        "name": f"{record}/{name}",
        "description": meaning,
        "dataType": kind,
        **further,
    }


def _counts(dataset: Dataset) -> dict[str, Any]:
    """How often each attribute takes each value, as records inside the file."""
    rows = [
        {"groups/attribute": name, "groups/value": value, "groups/number": n}
        for name, values in balance(dataset).items()
        for value, n in values
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": "groups",
        "name": "groups",
        "description": "People (for attributes of people) or images (for attributes of images) with each value.",
        "field": [
            _field("groups", "attribute", "sc:Text", "name of the attribute"),
            _field("groups", "value", "sc:Text", "value of the attribute"),
            _field("groups", "number", "sc:Integer", "how many people or images have it"),
        ],
        "data": rows,
    }


def _file(path: Path) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "contentUrl": path.name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file_hash(path),
    }


def _record_set(path: Path) -> dict[str, Any]:
    import pyarrow.parquet as pq

    schema, record = pq.read_schema(path), path.stem
    fields = []
    for column in schema:
        kind = next((kind for start, kind in TYPES.items() if str(column.type).startswith(start)), "sc:Text")
        source = {"fileObject": {"@id": path.name}, "extract": {"column": column.name}}
        fields.append(_field(record, column.name, kind, column.name.replace("_", " "), source=source))
    what = "one row for each picture" if record == "samples" else "one row for each person in a picture"
    return {"@type": "cr:RecordSet", "@id": record, "name": record, "description": what, "field": fields}
