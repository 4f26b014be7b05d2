"""Signatures say everything that can be set, with the defaults of the settings."""

import inspect

import pytest

import countenance as ct
from countenance.auditing.settings import AuditSettings
from countenance.comparing.comparison import SETTINGS
from countenance.errors import OptionError
from countenance.settings import DataSettings, EngineSettings, ModelSettings, RunSettings, default_of

ROLES = ("truth", "pred", "score", "positive")
GROUPS = (ModelSettings, DataSettings, RunSettings, EngineSettings)


def test_evaluate_lists_every_setting_with_its_default_and_nothing_else():
    parameters = inspect.signature(ct.evaluate).parameters
    own = {name: p for name, p in parameters.items() if name not in ("model", "task", "data", "out")}
    settings = {name: default_of(group, name) for group in GROUPS for name in group.model_fields}
    assert {name: p.default for name, p in own.items()} == settings
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in own.values())


def test_no_setting_is_in_two_groups():
    names = [name for group in GROUPS for name in group.model_fields]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("group", GROUPS)
def test_every_setting_says_what_it_means_and_is_in_the_docstring_of_evaluate(group):
    for name, field in group.model_fields.items():
        assert (field.description and field.description[0].isupper()) or field.description.startswith(("exact", "Ray"))
        assert name in (ct.evaluate.__doc__ or "")


def test_wrong_values_name_the_argument(tmp_path):
    for wrong in ({"workers": 0}, {"batch": "8"}, {"engine": "spark"}, {"device": "tpu"}, {"box_format": "corner"}):
        (name,) = wrong
        with pytest.raises(OptionError) as error:
            ct.evaluate("haar", "face_localization", "people:portraits", **wrong)
        assert error.value.argument == name
        assert str(next(iter(wrong.values()))) in str(error.value)


def test_audit_lists_every_setting_with_its_default():
    parameters = inspect.signature(ct.audit).parameters
    own = {
        name: p.default for name, p in parameters.items() if name not in ("source", "by", "metrics", "equity", *ROLES)
    }
    assert own == {name: default_of(AuditSettings, name) for name in AuditSettings.names()}
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    for name in parameters:
        assert name in (ct.audit.__doc__ or "")


@pytest.mark.parametrize("function", [ct.compare, ct.leaderboard])
def test_comparisons_list_every_setting_with_its_default(function):
    parameters = inspect.signature(function).parameters
    own = ("entries", "by", "metrics", "names", "against_first")
    settings = {name: p.default for name, p in parameters.items() if name not in own}
    assert settings == {name: default_of(AuditSettings, name) for name in ("pair", *SETTINGS)}
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    for name in parameters:
        assert name in (function.__doc__ or "")


@pytest.mark.parametrize("name", ct.__all__)
def test_every_public_name_is_what_it_says_and_teaches(name):
    """What `help()` shows: an example that runs (a doctest); of a function also each argument, and what it raises."""
    value = getattr(ct, name)
    assert not inspect.ismodule(value)
    text = value.__doc__ or ""
    assert ">>> " in text
    if inspect.isfunction(value):
        parameters = inspect.signature(value).parameters
        untold = [parameter for parameter in parameters if f"{parameter}" not in text.replace(">>> ", "")]
        assert untold == [] and ("Error" in text or "raises nothing" in text)
        assert all(one.annotation is not inspect.Parameter.empty for one in parameters.values())
        assert inspect.signature(value).return_annotation is not inspect.Signature.empty
        return
    own = [member for member in vars(value) if not member.startswith("_")]
    fields = getattr(value, "__dataclass_fields__", {})
    methods = [
        getattr(value, member)
        for member in own
        if member not in fields and (callable(getattr(value, member)) or isinstance(vars(value)[member], property))
    ]
    assert [method for method in methods if not inspect.getdoc(method)] == []
