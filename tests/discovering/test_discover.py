"""Slices that nobody labelled: planted ones are found, fair tables are not called, pages and attributes say so."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.browser import IN_BROWSER
from typer.testing import CliRunner

from countenance.auditing import audit
from countenance.cli.app import app
from countenance.discovering import discover
from countenance.discovering.attribute import with_attribute
from countenance.discovering.candidates import clustered, k_means
from countenance.discovering.embeddings import from_file
from countenance.discovering.page import write_page
from countenance.errors import InputError


def planted(seed, people=400, rows=8, lift=0.0, share=0.08):
    """Rows in which pictures with a hat fail more often; the hat is in no column, but in the vectors."""
    r = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), rows)
    hat = r.random(len(who)) < share
    way = r.normal(size=48)
    vectors = r.normal(size=(people, 48))[who] * 0.7 + r.normal(size=(len(who), 48))
    vectors[hat] += 6 * way / np.linalg.norm(way)
    chance = 1 / (1 + np.exp(2.4 - r.normal(0, 0.7, people)[who])) + lift * hat
    table = {
        "missed": (r.random(len(who)) < chance).astype(float),
        "person_id": [f"p{i}" for i in who],
        "light": np.array(["dim", "bright", "side"])[r.integers(0, 3, len(who))].tolist(),
        "sex": np.array(["f", "m"])[r.integers(0, 2, people)][who].tolist(),
    }
    return table, vectors, hat


def test_a_planted_slice_is_found_and_confirmed_by_others():
    table, vectors, hat = planted(1, people=600, lift=0.25)
    found = discover(table, "missed", embeddings=vectors)
    first, rows = found.slices[0], found.members[0].rows
    assert first.confirmed and hat[rows].mean() > 0.5 and first.estimate > first.rest
    confirm = found.rows.confirm
    assert first.n_confirm == (rows & confirm).sum() and first.n_search == (rows & ~confirm).sum()
    assert not set(found.rows.people[confirm]) & set(found.rows.people[~confirm])
    assert first.estimate == pytest.approx(found.rows.values[rows & confirm].mean())
    assert first.low < first.estimate < first.high and len(found.slices) <= 10


def test_a_slice_of_two_attributes_is_described_by_them():
    table, _, _ = planted(2)
    both = np.array([light == "dim" and sex == "f" for light, sex in zip(table["light"], table["sex"], strict=True)])
    table["missed"] = np.maximum(table["missed"], both & (np.arange(len(both)) % 2 == 0)).astype(float)
    first = discover(table, "missed").slices[0]
    assert first.confirmed and {"light = dim", "sex = f"} == set(first.description.split(" and "))


def test_fair_tables_are_hardly_ever_called():
    called = sum(any(one.confirmed for one in discover(*_fair(seed)).slices) for seed in range(20))
    assert called <= 4  # more: p < .003 at .05


def _fair(seed):
    table, _, _ = planted(seed, people=200)
    return table, "missed"


@pytest.mark.slow
def test_false_alarms_and_power_keep_their_promises():
    for lift, people, low, high in ((0.0, 400, 0.0, 0.05 + 2 * 0.0154), (0.15, 600, 0.8, 1.0)):
        hits = 0
        for seed in range(200):
            table, vectors, _ = planted(1000 + seed, people=people, lift=lift)
            hits += any(one.confirmed for one in discover(table, "missed", embeddings=vectors, seed=seed).slices)
        assert low <= hits / 200 <= high


def test_the_test_is_clustered_by_person():
    r = np.random.default_rng(0)
    people, inside = np.repeat(np.arange(100), 5), np.repeat(r.random(100) < 0.4, 5)
    values = np.repeat(r.normal(size=100), 5)
    gap, error, p, owners = clustered(values, inside, people, one_sided=True)
    once = clustered(values[::5], inside[::5], people[::5], one_sided=True)
    assert (gap, error, p, owners) == pytest.approx(once)


def test_both_directions_are_looked_at_where_better_is_not_known():
    table, _, _ = planted(3)
    table["size"] = [5.0 + 3 * (light == "dim") + (i % 5) for i, light in enumerate(table["light"])]
    del table["missed"]
    found = discover(table, "size")
    assert found.rows.better is None and found.slices[0].description == "light = dim" and found.slices[0].confirmed


def test_columns_of_0_and_1_are_attributes_unless_they_are_scores():
    table, _, _ = planted(4)
    worn = np.random.default_rng(4).random(len(table["missed"])) < 0.4
    missed = np.maximum(table["missed"], worn & (np.arange(len(worn)) % 3 == 0))
    table |= {"missed": missed.astype(float), "glasses": worn.astype(int), "right": 1 - missed}
    table["recall@0.75"] = (1 - missed) * (np.arange(len(worn)) % 2)
    result = discover(table, "missed")
    assert result.slices[0].description == "glasses = 1" and result.slices[0].confirmed
    assert result.looked_at == ["light", "sex", "glasses"]
    (note,) = result.notes
    assert note.startswith("right, recall@0.75 are taken for scores") and "attr.right" in note
    marked = {f"attr.{name}" if name in ("glasses", "light") else name: cells for name, cells in table.items()}
    assert discover(marked, "missed").looked_at == ["light", "glasses"] and not discover(marked, "missed").notes


def test_too_few_people_are_refused():
    with pytest.raises(InputError, match="fewer than 40"):
        discover({"missed": [0.0, 1.0] * 10, "light": ["a", "b"] * 10}, "missed")


def test_vectors_come_from_files_of_the_right_shape(tmp_path):
    np.save(tmp_path / "v.npy", np.zeros((3, 2)))
    assert from_file(tmp_path / "v.npy", [None] * 3, 3).shape == (3, 2)
    with pytest.raises(InputError, match="expected 4 vectors"):
        from_file(tmp_path / "v.npy", [None] * 4, 4)
    with pytest.raises(InputError, match=r"expected \.npy or \.parquet"):
        from_file(tmp_path / "v.txt", [], 0)
    for wrong in (np.array([["a"]] * 3), np.ones((3, 2), complex), np.zeros((3, 1), "M8[D]")):
        np.save(tmp_path / "w.npy", wrong)
        with pytest.raises(InputError, match="expected numbers"):
            from_file(tmp_path / "w.npy", [None] * 3, 3)
    for column in ([1, 2], ["a", "b"], [["a"], ["b"]], [None, None]):
        pq.write_table(pa.table({"sample": ["x", "y"], "embedding": column}), tmp_path / "w.parquet")
        with pytest.raises(InputError, match="expected lists of numbers"):
            from_file(tmp_path / "w.parquet", ["x", "y"], 2)
    np.save(tmp_path / "w.npy", np.full((3, 2), np.nan))
    with pytest.raises(InputError, match="no row has a vector of finite numbers"):
        from_file(tmp_path / "w.npy", [None] * 3, 3)
    (tmp_path / "w.npy").write_bytes(b"anything")
    with pytest.raises(InputError, match=r"w\.npy: not an array as numpy\.save writes it$"):
        from_file(tmp_path / "w.npy", [None] * 3, 3)
    pq.write_table(pa.table({"sample": ["x", "y"], "embedding": [[1.0], [2.0]]}), tmp_path / "w.parquet")
    for samples, words in ((["a", "b"], "its samples are others"), ([None, None], "the table has no column sample")):
        with pytest.raises(InputError, match=words):
            from_file(tmp_path / "w.parquet", samples, 2)
    pq.write_table(pa.table({"sample": ["x", "x"], "embedding": [[1.0], [2.0]]}), tmp_path / "w.parquet")
    with pytest.raises(InputError, match="several vectors of sample 'x'"):
        from_file(tmp_path / "w.parquet", ["x", "y"], 2)
    pq.write_table(pa.table({"sample": [1, 2], "embedding": [[1.0], [2.0]]}), tmp_path / "w.parquet")
    assert from_file(tmp_path / "w.parquet", ["2", "1"], 2).tolist() == [[2.0], [1.0]]
    np.save(tmp_path / "w.npy", np.zeros((3, 0)))
    with pytest.raises(InputError, match="vectors of no numbers"):
        from_file(tmp_path / "w.npy", [None] * 3, 3)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1099511627776), }".ljust(117) + b"\n"
    (tmp_path / "w.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + header)
    with pytest.raises(InputError, match="more memory than is allowed"):
        from_file(tmp_path / "w.npy", [None] * 3, 3)
    assert len(k_means(np.zeros((5, 2)), 3, np.random.default_rng(0))) == 1


def test_vectors_of_huge_and_of_tiny_numbers_give_the_slices_of_usual_ones():
    table, vectors, _ = planted(1, lift=0.3)
    usual = discover(table, "missed", embeddings=vectors)
    for scale in (2.0**1000, 2.0**-1000):
        scaled = discover(table, "missed", embeddings=vectors * scale)
        assert [each.p for each in scaled.slices] == [each.p for each in usual.slices]


def test_vectors_of_another_length_are_refused_and_rows_without_one_are_counted():
    table, vectors, _ = planted(1)
    rows = len(vectors)
    for wrong in (vectors[:-1], np.vstack([vectors, vectors[:1]]), vectors[:, 0], vectors[:, :0]):
        with pytest.raises(InputError, match=f"expected {rows} vectors"):
            discover(table, "missed", embeddings=wrong)
    vectors[:1, 3], vectors[1:2] = np.nan, np.inf
    (note,) = discover(table, "missed", embeddings=vectors).notes
    assert note.startswith(f"2 of {rows:,} rows have no vector of finite numbers")


@pytest.mark.parametrize("alpha", [0, 0.5, 2, -1, float("nan")])
def test_a_level_that_is_none_is_refused(alpha):
    with pytest.raises(InputError, match="alpha"):
        discover(planted(1)[0], "missed", alpha=alpha)


def test_no_output_replaces_what_is_read(tmp_path):
    table, _, _ = planted(5)
    np.save(tmp_path / "v.npy", np.zeros((len(table["missed"]), 2)))
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "link.json").symlink_to(tmp_path / "t.parquet")
    words = [str(tmp_path / "t.parquet"), "--metric", "missed"]
    search = ["discover", *words, "--embeddings", str(tmp_path / "v.npy"), "--out", str(tmp_path / "out"), "--json"]
    audited, compared = ["audit", *words, "--by", "light", "--json"], ["compare", *words[:1] * 2, "--json"]
    for command in (search, audited, compared):
        for name in ("t.parquet", "link.json"):
            answer = CliRunner().invoke(app, [*command, str(tmp_path / name)])
            assert "is read by this command" in str(answer.exception)
    assert "v.npy: is read" in str(CliRunner().invoke(app, [*search, str(tmp_path / "v.npy")]).exception)
    assert (tmp_path / "t.parquet").read_bytes() == content and not (tmp_path / "out").exists()


def test_the_command_writes_page_slices_and_an_attribute_known_for_one_half(tmp_path):

    table, vectors, _ = planted(4, people=300, lift=0.3)
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    np.save(tmp_path / "v.npy", vectors)
    words = ["discover", str(tmp_path / "t.parquet"), "--metric", "missed", "--embeddings", str(tmp_path / "v.npy")]
    words += ["--out", str(tmp_path / "out"), "--json", str(tmp_path / "s.json"), "--save-attribute", "odd"]
    answer = CliRunner().invoke(app, words, catch_exceptions=False)
    assert answer.exit_code == 0 and "confirmed of" in answer.stdout
    first = json.loads((tmp_path / "s.json").read_text())["slices"][0]
    names = {"description", "n_search", "n_confirm", "estimate", "rest", "low", "high", "p", "p_adjusted", "confirmed"}
    assert names <= first.keys() and first["confirmed"] is True
    page = (tmp_path / "out" / "discovered.html").read_text()
    assert first["description"].partition(" ")[0] in page and "http" not in page.partition("<body>")[2]
    made = pq.read_table(tmp_path / "out" / "with_odd.parquet")
    assert set(made["attr.odd"].to_pylist()) == {"yes", "no", None}
    found = audit(tmp_path / "out" / "with_odd.parquet", ["odd"], ["missed"], adjust="holm")
    assert any("only they are compared" in note for note in found.notes)
    assert {e.group for e in found.groups} == {f.group for f in found.findings} | {"yes"} == {"no", "yes"}
    n = sum(e.n for e in found.groups if e.attribute == "odd")
    assert n == sum(value is not None for value in made["attr.odd"].to_pylist())


def test_an_attribute_that_is_there_is_not_overwritten():

    table, _, _ = planted(5, lift=0.0)
    found = discover(table, "missed")
    for name, words in (("light", "choose another name"), ("a b", "expected letters")):
        with pytest.raises(InputError, match=words):
            with_attribute(pa.table(table), found, name)


def test_a_wrong_name_of_an_attribute_is_refused_before_the_search(tmp_path):
    pq.write_table(pa.table(planted(5)[0]), tmp_path / "t.parquet")
    words = ["discover", str(tmp_path / "t.parquet"), "--metric", "missed", "--out", str(tmp_path / "out")]
    for name in ("light", "a b"):
        answer = CliRunner().invoke(app, [*words, "--save-attribute", name])
        assert answer.exit_code != 0 and "save_attribute=" in str(answer.exception) and not (tmp_path / "out").exists()


def test_a_page_says_slices_in_words_with_counts_and_everyone_on_the_scale(tmp_path):
    n = 800
    light = ["dim" if i % 4 == 0 else "even" for i in range(n)]
    stops = [i / 8 for i in range(n)]
    table = {
        "person_id": [f"p{i}" for i in range(n)],
        "light": light,
        "img.brightness": [40 + (i * 37 % 101) for i in range(n)],
        "img.noise": [0.5] * n,
        "stops": stops,
        "missed": [float(value == "dim" and i % 8 != 4) for i, value in enumerate(light)],
    }
    result = discover(table, "missed", better="lower")
    assert all("img.noise" not in each.description for each in result.slices), "one bin makes no slice"
    page = write_page(result, "t", tmp_path).read_text(encoding="utf-8")
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", page)[1]
    first = result.slices[0]
    assert first.description == "light = dim" and "in dim light" in heading
    assert f"{round(first.estimate * first.n_confirm)} of {first.n_confirm} " in heading
    shown = re.sub(r' title="[^"]*"', "", page)
    assert "brightness of the surroundings" in shown and "img.brightness" not in shown and "light = " not in shown


PLACES = """() => [...document.querySelectorAll(".short-forest tbody tr")].map(row => {
    const text = document.createRange(); text.selectNodeContents(row.querySelector(".sub"));
    const marks = [...row.querySelectorAll("td.plot .mark, td.plot .interval")];
    return [Math.max(...[...text.getClientRects()].map(line => line.right)),
            Math.min(...marks.map(mark => mark.getBoundingClientRect().left))];
})"""


class TestInABrowser:
    pytestmark = IN_BROWSER

    def test_the_counts_of_a_small_estimate_end_before_its_point(self, chromium, tmp_path):
        n = 6000
        table = {
            "person_id": [f"p{i // 4}" for i in range(n)],
            "light": ["dim" if i % 8 < 4 else "even" for i in range(n)],
            "found": [float(i % 8 >= 4 or i % 97 == 0) for i in range(n)],
        }
        page = chromium.new_page(viewport={"width": 680, "height": 900})
        page.goto(write_page(discover(table, "found", better="higher"), "t", tmp_path).as_uri())
        places = page.evaluate(PLACES)
        page.close()
        assert places and all(text < mark for text, mark in places), places
