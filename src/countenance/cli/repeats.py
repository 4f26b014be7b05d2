"""An option that takes one value is refused when it is given twice (the last would win), and so is an empty --out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from countenance.errors import InputError


def refuse_repeats(command: Any) -> Any:
    """The command, with every command below it refusing repeated options that take one value."""
    for leaf in _leaves(command):
        leaf.parse_args = partial(_parse, leaf, leaf.parse_args)
    return command


def _leaves(command: Any) -> Iterator[Any]:
    below = getattr(command, "commands", None)
    if below is None:
        yield command
    else:
        for subcommand in below.values():
            yield from _leaves(subcommand)


def _parse(leaf: Any, parse: Any, context: Any, arguments: list[str]) -> Any:
    if not context.resilient_parsing:
        values, _, order = leaf.make_parser(context).parse_args(list(arguments))
        for option in leaf.params:
            countless = ("multiple", "is_flag", "count")  # -vv is -v twice, and meant so
            single = not any(getattr(option, name, name != "count") for name in countless)
            if "--out" in option.opts and values.get(option.name) == "":
                raise InputError("--out is empty; expected the name of a file or a folder")
            if single and (times := order.count(option)) > 1:
                how = "with commas" if "comma" in (option.help or "") else "once"
                raise InputError(
                    f"{option.opts[0]} is given {times} times, and only the last would count; give its "
                    f"{'values ' if how == 'with commas' else 'value '}{how}, as in {option.opts[0]} "
                    f"{'A,B' if how == 'with commas' else 'VALUE'}"
                )
    return parse(context, arguments)
