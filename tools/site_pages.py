"""Pages of the documentation that are generated from the code: a hook of mkdocs.

The reference of the Python names, the commands and the settings, and a page for each task. None of them is written by
hand, so that they cannot differ from what the package does.
"""

import ast
import inspect
import itertools
import os
import textwrap
from collections.abc import Iterable
from typing import Any

import typer
from mkdocs.structure.files import File, Files

import countenance
from countenance.answers.formats.registry import format_names, load_format
from countenance.auditing.settings import AuditSettings
from countenance.cli.app import app
from countenance.cli.former_flags import FORMER
from countenance.cli.help import EXAMPLES
from countenance.cli.settings import GROUPS, flag_of
from countenance.settings import DataSettings, EngineSettings, ModelSettings, RunSettings
from countenance.tasks import Options, Task, load_task, task_names

KINDS = {
    "Functions": inspect.isfunction,
    "Errors": lambda item: inspect.isclass(item) and issubclass(item, Exception),
    "Classes": inspect.isclass,
}


def python_page() -> str:
    """The names of `countenance.__all__` by kind, each documented by its docstring."""
    text = [
        "# Python reference",
        "",
        "All public names are in `import countenance as ct`; every other module is private.",
        "",
    ]
    listed: set[str] = set()
    for title, is_kind in KINDS.items():
        names = [name for name in countenance.__all__ if name not in listed and is_kind(getattr(countenance, name))]
        listed |= set(names)
        text += [f"## {title}", ""]
        for name in names:
            text += _documented(f"ct.{name}", getattr(countenance, name), "###")
    return "\n".join(text)


def command_page() -> str:
    """Every command with its sentence, its arguments and options, and its example."""
    text = ["# Commands", "", "`countenance COMMAND --help` prints the same in a terminal.", ""]
    for path, command in _commands(typer.main.get_command(app), ("countenance",)):
        name = " ".join(path[1:])
        text += [f"## {name}", "", _escaped(command.help or ""), "", "```console", f"$ {EXAMPLES[name]}", "```", ""]
        rows = [_option_row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
        if rows:
            text += ["| option | default | |", "|---|---|---|", *rows, ""]
    return "\n".join(text)


def options_page() -> str:
    """Every option once, in alphabetical order, with what it means in which commands.

    A search for `--min-n` is a search for this title (docs/search.js).
    """
    meanings: dict[str, dict[tuple[str, str], list[str]]] = {}
    spellings: dict[str, str] = {}
    for path, command in _commands(typer.main.get_command(app), ("countenance",)):
        for parameter in command.params:
            flag = next((flag for flag in parameter.opts if flag.startswith("--")), "")
            if flag and not getattr(parameter, "hidden", False):
                spellings[flag] = _spellings(parameter)
                meaning = (_cell(getattr(parameter, "help", "") or ""), _default(parameter))
                meanings.setdefault(flag, {}).setdefault(meaning, []).append(" ".join(path[1:]))
    names = {flag_of(group, name): name for group in GROUPS for name in group.model_fields}
    former: dict[str, set[str]] = {}
    for replaced in FORMER.values():
        for flag, current in replaced.items():
            former.setdefault(flag, set()).add(current)
    text = ["---", "search: {boost: 3}", "---", "", "# Options", "", "Every option of the commands, by its name.", ""]
    for flag in sorted({*meanings, *former}):
        text += [f"## {flag} {{#{flag.strip('-')}}}", ""]
        if spellings.get(flag, f"`{flag}`") != f"`{flag}`":
            text += [f"Spelled {spellings[flag]}.", ""]
        for (meaning, default), commands in meanings.get(flag, {}).items():
            stated = f"{meaning} Default: {default}." if default else meaning
            text += [stated, "", f"Commands: {_listed(commands)}.", ""]
        if flag in names and flag in meanings:
            text += [f"In Python: `{names[flag]}`.", ""]
        for current in sorted(former.get(flag, ())):
            called = [name for name, replaced in FORMER.items() if replaced.get(flag) == current]
            text += [f"In {_listed(called)}: now [{current}](#{current.strip('-')}); both are read.", ""]
    return "\n".join(text)


def settings_page() -> str:
    """Every setting: its name, type, default and sentence, by settings model."""
    text = [
        "# Settings",
        "",
        "Arguments of `ct.evaluate` and `ct.audit` and options of the commands are generated from these settings.",
        "",
    ]
    for model in (ModelSettings, DataSettings, RunSettings, EngineSettings, AuditSettings):
        text += [f"## {model.__name__}", "", "| name | type | default | |", "|---|---|---|---|"]
        for name, field in model.model_fields.items():
            kind = inspect.formatannotation(field.annotation).replace("|", "or").replace("typing.", "")
            text.append(f"| `{name}` | {_cell(kind)} | {_code(field.default)} | {_cell(field.description or '')} |")
        text.append("")
    return "\n".join(text)


def task_page(task: Task) -> str:
    """A task: its question, what a model answers, the files that are read, its options, its metrics."""
    formats = [item for item in map(load_format, format_names()) if task.answer in item.kinds]
    text = [
        f"# {task.name}",
        "",
        task.question,
        "",
        f"A model answers with `ct.{task.answer.__name__}` for each picture.",
        "",
        "```console",
        f"$ countenance run {task.name} --model my_module:Mine --data my_folder --out runs/mine",
        "```",
        "",
    ]
    if formats:
        text += [
            "Saved predictions (`--model predictions:FILE`, [examples of each file](../answers.md)):",
            "",
            *(f"- `{item.name}`: {item.meaning}" for item in formats),
            "",
        ]
    options = [] if task.options is None else task_options(type(task.options))
    if options:
        text += [
            'Options (`--option name=value`, `options={"name": value}`):',
            "",
            "| option | default | meaning |",
            "|---|---|---|",
            *options,
            "",
        ]
    text += ["| metric | better | meaning |", "|---|---|---|"]
    text += [f"| `{metric.name}` | {metric.better or 'neither'} | {_cell(metric.meaning)} |" for metric in task.metrics]
    return "\n".join([*text, ""])


def pages() -> dict[str, str]:
    """All generated pages by their path below docs/."""
    listed = {
        "reference/python.md": python_page(),
        "reference/commands.md": command_page(),
        "reference/options.md": options_page(),
        "reference/settings.md": settings_page(),
    }
    tasks = [load_task(name) for name in task_names()]
    listing = ["# Tasks", "", "| task | question |", "|---|---|"]
    listing += [f"| [{task.name}]({task.name}.md) | {task.question} |" for task in tasks]
    listed["tasks/index.md"] = "\n".join([*listing, ""])
    return listed | {f"tasks/{task.name}.md": task_page(task) for task in tasks}


def on_config(config: Any) -> Any:
    """Where the site is published, and the repository that its pages link to, where the environment names them."""
    if site := os.environ.get("COUNTENANCE_SITE"):
        config.site_url = f"{site.rstrip('/')}/"
    if repository := os.environ.get("COUNTENANCE_REPOSITORY"):
        config.extra["social"] = [{"icon": "material/source-repository", "link": repository, "name": "Source"}]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages to the site."""
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def _commands(command: Any, path: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], Any]]:
    """Every command below a group with the words that call it."""
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield ((*path, name), inner)
            yield from _commands(inner, (*path, name))


def _documented(name: str, item: Any, heading: str) -> list[str]:
    """Heading, signature and docstring of a function or class; of a class its public methods too."""
    is_error = inspect.isclass(item) and issubclass(item, Exception)
    lines = [f"{heading} {name}", ""]
    if not is_error:
        lines += ["```python", _signature(name, item), "```", ""]
    lines += [_markdown(inspect.getdoc(item) or ""), ""]
    if inspect.isclass(item) and not is_error:
        methods = [
            (inner, getattr(item, inner))
            for inner, value in vars(item).items()
            if not inner.startswith("_") and isinstance(value, (classmethod, staticmethod)) | inspect.isfunction(value)
        ]
        for inner, method in methods:
            if inspect.getdoc(method):
                lines += _documented(f"{name}.{inner}", method, heading + "#")
    return lines


def _signature(name: str, item: Any) -> str:
    """A call with every parameter and its default, one on a line where they are many."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(item).parameters.values()
        if parameter.name != "self"
    ]
    text = str(inspect.Signature(parameters))
    if len(name + text) > 100:
        text = "(\n    " + text[1:-1].replace(", ", ",\n    ") + ",\n)"
    return name + text


def _markdown(docstring: str) -> str:
    """A docstring as Markdown: examples as code, indented arguments as a list."""
    lines: list[str] = []
    fenced = False
    for line in docstring.splitlines():
        if line.lstrip().startswith(">>>") and not fenced:
            lines, fenced = [*lines, "", "```pycon"], True
        elif fenced and not line.strip():
            lines, fenced = [*lines, "```"], False
        is_argument = not fenced and line.startswith("    ") and not line.startswith("     ") and ": " in line
        lines.append(f"- {line.strip()}" if is_argument else line if fenced else line.strip())
        if not fenced and line.rstrip() == "Arguments:":
            lines.append("")
    return "\n".join([*lines, "```"] if fenced else lines)


def _listed(commands: Iterable[str]) -> str:
    """Commands with links to their places on the page of commands."""
    return ", ".join(f"[{name}](commands.md#{name.replace(' ', '-')})" for name in commands)


def _option_row(parameter: Any) -> str:
    return f"| {_spellings(parameter)} | {_default(parameter)} | {_cell(getattr(parameter, 'help', '') or '')} |"


def _spellings(parameter: Any) -> str:
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter: Any) -> str:
    return _code("" if callable(parameter.default) else parameter.default)


def task_options(options: type[Options]) -> list[str]:
    """A row for each option of a task, with the string below its field as its meaning."""
    meanings: dict[str, str] = {}
    for parent in reversed(options.__mro__[: options.__mro__.index(Options)]):
        body = ast.parse(textwrap.dedent(inspect.getsource(parent))).body[0].body
        for field, below in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                meanings[field.target.id] = ast.literal_eval(below.value)
    return [
        f"| `{name}` | {_code(field.get_default(call_default_factory=True))} | {_cell(meanings[name])} |"
        for name, field in options.model_fields.items()
    ]


def _code(value: Any) -> str:
    plain = value is None or value == "" or "PydanticUndefined" in repr(value) or "Sentinel" in repr(value)
    return "" if plain or value is False else f"`{_cell(str(value))}`"


def _cell(text: str) -> str:
    return _escaped(text).replace("|", "\\|").replace("\n", " ")


def _escaped(text: str) -> str:
    """Text of a help message, in which brackets are not links."""
    return inspect.cleandoc(text).replace("\b", "").replace("[", "\\[").replace("<", "&lt;")
