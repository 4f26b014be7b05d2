"""The viewer holds conditions equal where its address says so."""

from tests.view.conftest import Viewer, query


def test_a_field_asks_and_the_tests_answer(viewer: Viewer, first: str) -> None:
    asked = query(by="gender", given="skin_tone")
    page = viewer.ask(f"/runs/{first}?{asked}")
    assert page.status == 200 and 'name="given" value="skin_tone"' in page.text
    tests = viewer.ask(f"/runs/{first}/tests?{asked}")
    assert tests.status == 200 and 'id="held-equal"' in tests.text and "ith skin_tone held equal" in tests.text
    plain = viewer.ask(f"/runs/{first}/tests?{query(by='gender')}")
    assert plain.status == 200 and 'id="held-equal"' not in plain.text
    assert viewer.ask(f"/runs/{first}?{query(by='gender', given='nobody')}").status == 400
