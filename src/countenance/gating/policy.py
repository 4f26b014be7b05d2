"""A gate's policy: a YAML file (or a dict) with rules, checked before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError

from countenance.data.tables import near
from countenance.data.yaml_text import read_yaml
from countenance.errors import InputError
from countenance.gating.kinds import KINDS, Kind, StrictRule
from countenance.run.licences import Allowed

Insufficient = Literal["fail", "warn", "pass"]
CHOICES: tuple[str, ...] = get_args(Insufficient)
ABOUT = ("name", "insufficient")
"""Keys of a rule beside the key of its kind."""


class Rule(BaseModel):
    """One requirement, and what happens when the evidence cannot decide it."""

    model_config = StrictRule.model_config
    name: str
    kind: str
    wants: Any
    """The settings of the rule: one of the classes in `kinds.py`."""
    insufficient: Insufficient


class Licences(StrictRule):
    """Licences that data and weights may have."""

    allow: list[str]

    @property
    def allowed(self) -> Allowed:
        """The check that `countenance run` makes before it starts."""
        return Allowed(tuple(self.allow))


class Policy(BaseModel):
    """The requirements on a run. `alpha` is the level of each rule, `where` keeps the rows that rules are about.

    With `any_time` intervals hold at every look, for a gate that is repeated while data grows.
    """

    model_config = StrictRule.model_config
    alpha: float = 0.05
    any_time: bool = False
    where: dict[str, list[str]] = {}
    licences: Licences | None = None
    rules: list[Rule] = []

    def at_every_look(self, place: str = "policy") -> Policy:
        """The same policy with intervals that hold at every look; refused where a rule has none.

        >>> policy = read_policy({"rules": [{"verdict": {"forbid": "disparity"}, "insufficient": "fail"}]})
        >>> policy.at_every_look()
        Traceback (most recent call last):
        countenance.errors.InputError: policy: any_time: the rule 'no disparity' (verdict) is for a single look; ...
        """
        once = next((rule for rule in self.rules if rule.kind in ONCE_ONLY), None)
        if once is not None:
            raise InputError(
                f"{place}: any_time: the rule {once.name!r} ({once.kind}) is for a single look; use the kinds estimate "
                "and gap, or put it into a policy of its own"
            )
        return self.model_copy(update={"any_time": True})


ONCE_ONLY = ("verdict", "equity", "latency", "regression")
"""Rules whose intervals are for a single look."""


def read_policy(source: Any) -> Policy:
    """The policy in a YAML file, a dict or a `Policy`; whatever is wrong in it is named with its place and a remedy.

    >>> read_policy({"rules": [{"people": {"at_least": 100}}]})
    Traceback (most recent call last):
    countenance.errors.InputError: policy: rule 1 (people): does not say what happens on insufficient evidence; add ...
    """
    if isinstance(source, Policy):
        return source
    if isinstance(source, Mapping):
        return _policy(dict(source), "policy")
    path = Path(source)
    return _policy(read_yaml(path), str(path))


def _policy(content: Any, place: str) -> Policy:
    if not isinstance(content, dict):
        content_kind = "nothing" if content is None else type(content).__name__
        raise InputError(f"{place}: a policy has rules, found {content_kind}; `countenance gate --init RUN` prints one")
    usual = content.get("insufficient")
    _known(content, ["alpha", "any_time", "where", "licences", "insufficient", "rules"], place)
    if usual is not None:
        _choice(usual, place)
    rules = content.get("rules") or []
    if not isinstance(rules, list):
        raise InputError(f"{place}: rules is {rules!r}, expected a list (each rule begins with '- ')")
    if not rules and not content.get("licences"):
        raise InputError(f"{place}: no rules; `countenance gate --init RUN` prints a policy to begin with")
    policy_rules = [_rule(rule, f"{place}: rule {number}", usual) for number, rule in enumerate(rules, 1)]
    twice = next(
        (
            rule.name
            for i, rule in enumerate(policy_rules)
            if rule.name in [earlier.name for earlier in policy_rules[:i]]
        ),
        None,
    )
    if twice:
        raise InputError(f"{place}: two rules are called {twice!r}; give one of them another name")
    alpha = content.get("alpha", 0.05)
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha < 0.5:
        raise InputError(f"{place}: alpha is {alpha!r}, expected a number above 0 and below 0.5")
    licences = None
    if content.get("licences") is not None:
        licences = _model(Licences, content["licences"], f"{place}: licences")
    any_time = content.get("any_time", False)
    if not isinstance(any_time, bool):
        raise InputError(f"{place}: any_time is {any_time!r}, expected true or false")
    policy = Policy(alpha=alpha, where=_where(content.get("where"), place), licences=licences, rules=policy_rules)
    return policy.at_every_look(place) if any_time else policy


def _where(conditions: Any, place: str) -> dict[str, list[str]]:
    from countenance.auditing.settings import parse_where

    if conditions is not None and not isinstance(conditions, dict | str | list):
        raise InputError(f"{place}: where is {conditions!r}, expected ATTRIBUTE: [VALUE, …]")
    return parse_where(conditions)


def _rule(rule: Any, place: str, usual: Any) -> Rule:
    if not isinstance(rule, dict) or not rule:
        raise InputError(f"{place}: {_short(rule)}, expected one of {', '.join(KINDS)} with its settings")
    kinds = [key for key in rule if key in KINDS]
    _known(rule, [*KINDS, *ABOUT], place)
    if len(kinds) != 1:
        named = " and ".join(kinds) if kinds else "none"
        raise InputError(
            f"{place}: a rule has exactly one of {', '.join(KINDS)}, found {named} (`countenance docs gate`)"
        )
    (kind,) = kinds
    place = f"{place} ({kind})"
    wants: Kind = _model(KINDS[kind], rule[kind], place)
    insufficient = rule.get("insufficient", usual)
    if insufficient is None:
        raise InputError(
            f"{place}: does not say what happens on insufficient evidence; add the line 'insufficient: fail' "
            "(or warn, or pass) to the rule"
        )
    _choice(insufficient, place)
    name = rule.get("name") or wants.words()
    if not isinstance(name, str):
        raise InputError(f"{place}: name is {name!r}, expected text")
    return Rule(name=name, kind=kind, wants=wants, insufficient=insufficient)


def _choice(choice: Any, place: str) -> None:
    if choice not in CHOICES:
        hint = near(str(choice), CHOICES)
        raise InputError(
            f"{place}: insufficient is {choice!r}{hint}, expected {', '.join(CHOICES[:-1])} or {CHOICES[-1]}"
        )


def _short(value: Any) -> str:
    """A value in few characters, however deeply it is nested."""
    import reprlib

    return reprlib.repr(value)


def _known(content: Mapping[Any, Any], names: Sequence[str], place: str) -> None:
    for key in content:
        if key not in names:
            raise InputError(f"{place}: unknown key {key!r}{near(str(key), names)}; there are {', '.join(names)}")


def _model(kind: type[Any], settings: Any, place: str) -> Any:
    """The settings of a rule, with pydantic's errors in our words."""
    if not isinstance(settings, dict):
        raise InputError(f"{place}: {_short(settings)}, expected settings: {', '.join(kind.model_fields)}")
    _known(settings, list(kind.model_fields), place)
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if "[" not in str(part))  # list[str] is a type
        problem = str(first["msg"]).removeprefix("Value error, ")
        if first["type"] == "missing":
            raise InputError(f"{place}: {where} is missing") from None
        content = f" is {_short(first['input'])}" if where else ""
        raise InputError(f"{place}: {where}{content}: {problem}".replace(": : ", ": ")) from None
