"""Files that a project must have around its code, and that they agree with it."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from countenance import __version__

ROOT = Path(__file__).resolve().parents[1]
YAML = [
    "CITATION.cff",
    ".pre-commit-config.yaml",
    "mkdocs.yml",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / ".github").rglob("*.yml")),
]


@pytest.mark.parametrize("name", YAML)
def test_yaml_files_can_be_read(name: str) -> None:
    assert isinstance(yaml.safe_load((ROOT / name).read_text(encoding="utf-8")), dict)


FORM_FIELDS = {"label", "description", "placeholder", "value", "render", "options", "multiple"}


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.name
)
def test_issue_forms_have_only_fields_that_forms_know(path: Path) -> None:
    """A comma in a label without quotes makes a second field of the rest, and the form is not offered."""
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= set(form)
    for part in form["body"]:
        assert set(part["attributes"]) <= FORM_FIELDS
        assert isinstance(part["attributes"].get("label", ""), str)


def test_the_citation_names_this_version_and_the_five_protocols() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    titles = " ".join(reference["title"] for reference in citation["references"])
    words = ("HappyFaces", "Open-Set Face", "bias bounty", "human-centric", "Face Mask")
    assert [word for word in words if word not in titles] == []


def test_the_citation_has_the_date_of_the_release() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    (heading,) = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[:1]
    assert heading == f"{citation['version']} ({citation['date-released']})"


def test_actions_of_others_are_named_by_their_commit() -> None:
    """A tag can be moved to other code after it was reviewed; the tag of a commit stands beside it."""
    files = [ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    uses = [
        line.split("uses:")[1].strip()
        for file in files
        for line in file.read_text("utf-8").splitlines()
        if "uses:" in line
    ]
    assert len(uses) > 10
    assert [name for name in uses if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v[\d.]+", name)] == []


def test_releases_and_the_site_name_the_projects_addresses() -> None:
    """Both workflows set what tools/project_addresses.py and tools/site_pages.py read."""
    hook = (ROOT / "tools" / "project_addresses.py").read_text(encoding="utf-8")
    read = set(re.findall(r'address\("(\w+)"\)', hook))
    for name, job in (("release", "wheel"), ("site", "build")):
        workflow = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))
        steps = workflow["jobs"][job]["steps"]
        (place,) = [number for number, step in enumerate(steps) if "COUNTENANCE_SITE" in step.get("env", {})]
        assert set(steps[place]["env"]) == read == {"COUNTENANCE_REPOSITORY", "COUNTENANCE_SITE"}
        pages = [number for number, step in enumerate(steps) if step.get("id") == "pages"]
        assert pages and pages[0] < place and "steps.pages.outputs.base_url" in steps[place]["env"]["COUNTENANCE_SITE"]


def test_the_diagram_of_the_layers_names_packages_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    packages = set(re.findall(r"`([a-z_]+)/", text)) - {"docs", "benchmarks", "people", "tests", "tools"}
    assert len(packages) > 10
    assert sorted(name for name in packages if not (ROOT / "src" / "countenance" / name).is_dir()) == []


def test_files_that_the_docs_name_exist() -> None:
    """Paths of the repository in backquotes: source, tests, tools and benchmarks."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = r"`((?:src|tests|tools|benchmarks|docs|people)/[\w./-]+\.(?:py|md|json|toml|yml))`"
    paths = [(page, path) for page in pages for path in re.findall(named, page.read_text(encoding="utf-8"))]
    assert [f"{page.relative_to(ROOT)}: {path}" for page, path in paths if not (ROOT / path).exists()] == []


def test_the_layers_in_contributing_are_those_that_are_enforced() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    names = [name.strip() for layer in layers for name in layer.split("|")]
    packages = [name for name in names if (ROOT / "src" / "countenance" / name).is_dir()]
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = next(block for block in text.split("```")[1::2] if block.strip().startswith("cli →"))
    assert [name.strip() for name in block.split("→")] == packages
