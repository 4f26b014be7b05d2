"""`countenance docs`: the pages of the documentation, which come with the package."""

import difflib
import re
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

import countenance
from countenance.cli.lines import say
from countenance.errors import InputError


def documentation_folder() -> Path | None:
    """The folder with the pages: in the installed package, or beside the source; None where there is neither."""
    package = Path(countenance.__file__).parent
    folders = (package / "documentation", package.parents[1] / "docs")
    return next((folder for folder in folders if (folder / "index.md").exists()), None)


def pages(folder: Path) -> dict[str, str]:
    """Every page by its name, with its title."""
    files = sorted(folder.rglob("*.md"), key=lambda path: (len(path.relative_to(folder).parts), path.as_posix()))
    return {path.relative_to(folder).with_suffix("").as_posix(): _title(path) for path in files}


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as stream:
        return stream.readline().lstrip("# ").strip()


def address(label: str) -> str:
    """An address of the project, such as "Documentation"; empty where the metadata of the package have none."""
    try:
        stated: list[str] = metadata.metadata("countenance").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    labelled = dict(text.split(", ", 1) for text in stated if ", " in text)
    return labelled.get(label, "").rstrip("/")


def with_addresses(message: str) -> str:
    """A message with the address of each page that it names, where the site has one."""
    if "countenance docs " not in message or not (site := address("Documentation")):
        return message
    return re.sub(r"`countenance docs ([a-z/-]+)`", rf"\g<0>, {site}/\1.html", message)


def docs(
    page: Annotated[
        str | None, typer.Argument(help="A page, such as extend/model; without one, all are listed.")
    ] = None,
) -> None:
    """Print a page of the documentation, or list the pages."""
    folder = documentation_folder()
    if folder is None:
        raise InputError("the pages of the documentation are not installed; install countenance from its wheel")
    known = pages(folder)
    if page is None:
        say(f"folder   {folder}")
        if site := address("Documentation"):
            say(f"site     {site}")
        width = max(map(len, known))
        for name, title in known.items():
            say(f"{name:{width}}  {title}")
        return
    name = page.removesuffix(".md").removeprefix("docs/")
    ending = [other for other in known if other.endswith(f"/{name}")]
    name = ending[0] if name not in known and len(ending) == 1 else name
    if name not in known:
        near = difflib.get_close_matches(name, known, 3, 0.4) or ["index"]
        raise InputError(f"no page {page!r:.60} in the documentation; near ones: {', '.join(near)} (countenance docs)")
    say((folder / f"{name}.md").read_text(encoding="utf-8").rstrip("\n"))


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(docs)
