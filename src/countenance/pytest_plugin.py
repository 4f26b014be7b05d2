"""A gate as a test: the marker `countenance` and the fixture `countenance_gate`, which pytest finds automatically.

    @pytest.mark.countenance(run="runs/new", policy="gate.yaml")
    def test_the_detector_may_ship(): ...

The gate runs after the test's own body. The test fails where the gate does, with its checks; a warning of the policy is
a warning of the test. The fixture does the same with a run that the test makes itself. Nothing of countenance is
imported before the first gate.
"""

import warnings
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from countenance.gating import Gate

MARKER = "countenance(run, policy, baseline=None): fail the test where the run does not pass the policy"
TAKES = ("run", "policy", "baseline")


class GateWarning(UserWarning):
    """A rule could not be decided, and the policy lets it through."""


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a marker with wrong arguments before anything runs."""
    for item in items:
        for marker in item.iter_markers("countenance"):
            wrong = [name for name in marker.kwargs if name not in TAKES]
            missing = [name for name in TAKES[len(marker.args) : 2] if name not in marker.kwargs]
            if wrong or missing or len(marker.args) > len(TAKES):
                problem = (
                    f"no argument {wrong[0]!r}" if wrong else f"{' and '.join(missing) or 'fewer arguments'} wanted"
                )
                raise pytest.UsageError(
                    f"{item.nodeid}: marker countenance: {problem}; it is {MARKER.partition(':')[0]}"
                )


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Check the gates of a marked test after its own body, the outermost marker first."""
    result = yield
    for marker in reversed(list(pyfuncitem.iter_markers("countenance"))):
        by_place: dict[str, Any] = dict(zip(TAKES, marker.args, strict=False))
        settle(pyfuncitem, **by_place, **marker.kwargs)
    return result


@pytest.fixture
def countenance_gate(request: pytest.FixtureRequest) -> "Callable[..., Gate]":
    """A function `(run, policy, baseline=None)` that fails the test where the gate does, and returns the outcome."""
    return lambda run, policy, baseline=None: settle(request.node, run, policy, baseline)


def settle(item: Any, run: Any, policy: Any, baseline: Any = None) -> "Gate":
    """Check a gate for a test: fail or warn, and store the outcome in the file that reports read."""
    from countenance.errors import InputError
    from countenance.gating import gate, output

    try:
        outcome = gate(run, policy, baseline=baseline)
    except InputError as error:
        pytest.fail(f"countenance: {error}", pytrace=False)
    item.user_properties.append(("countenance", outcome.summary))
    item.add_report_section("call", "countenance gate", "\n".join(output.lines(outcome)))
    if not outcome.passed:
        pytest.fail("\n".join(["the gate failed", *output.lines(outcome)]), pytrace=False)
    for rule in outcome.warnings:
        warnings.warn(GateWarning(f"{rule.name}: insufficient evidence"), stacklevel=2)
    return outcome
