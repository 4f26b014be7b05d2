"""The parts of a run that need no process: shards, draws, supervision of workers, shared memory, tables."""

import itertools
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import countenance as ct
from countenance.data.manifest_writer import attribute_kinds
from countenance.errors import InputError
from countenance.models import ModelCard
from countenance.run.early_stop import Watch, first_reason
from countenance.run.engine import local
from countenance.run.engine.arena import Arena
from countenance.run.engine.local import _Probes, _Shards, _Work, fair_share, thread_environment
from countenance.run.engine.processes import Death
from countenance.run.engine.search import Bisection
from countenance.run.feeding import AHEAD, FedGroup, ahead, by_thread, pixel_bytes, without_pixels
from countenance.run.licences import Allowed, names_in
from countenance.run.plan import InMemory, Piece, bare, make_plan
from countenance.run.rows import columns_of, failure_row, failure_table, rows_table, together
from countenance.run.shard import grouped
from countenance.run.staleness import Difference, draw, lowest_score, same_answer
from countenance.run.subjects import read_subjects
from countenance.run.withdrawals import NOBODY, Withdrawn, hashed_id
from countenance.settings import RunSettings
from countenance.settings.engine import EngineSettings
from countenance.tasks import load_task
from countenance.testing import small_dataset

CARD = ModelCard(name="m", content="x")
TASK = load_task("face_localization")


def plan_of(n: int, **settings: Any) -> Any:
    return make_plan(TASK, small_dataset(n, 16), CARD, settings=RunSettings(**settings))


# the plan


@pytest.mark.parametrize(
    ("n", "batch", "shard", "size"),
    [(12, 8, None, 64), (12, 5, None, 60), (12, 100, None, 100), (12, 4, 6, 4), (12, 4, 8, 8), (12, 4, 3, 4)],
)
def test_the_size_of_shards(n, batch, shard, size):
    plan = plan_of(n, batch=batch, shard=shard)
    assert plan.shard_size() == size
    pieces = plan.pieces()
    assert [piece.number for piece in pieces] == list(range(len(pieces)))
    assert [(p.start, p.stop) for p in pieces] == [(a, min(a + size, n)) for a in range(0, n, size)]
    assert plan.images() == n and sum(len(plan.read(piece)) for piece in pieces) == n


@pytest.mark.parametrize(
    ("images", "size"), [(6_400, 64), (6_500, 64), (10_000, 100), (900_000, 9_000), (9_000_000, 50_000)]
)
def test_large_runs_have_about_a_hundred_shards(images, size):
    class Many(InMemory):
        def pieces(self, size):
            return [Piece(k, 0, a, min(a + size, images)) for k, a in enumerate(range(0, images, size))]

    from dataclasses import replace

    plan = plan_of(4, batch=4)
    many = Many(plan.samples.card, (), {}, "", False, 0)
    assert replace(plan, samples=many).shard_size() == size // 4 * 4


def test_a_limit_draws_the_same_images_and_a_smaller_one_is_part_of_a_larger():
    names = {k: [s.id for s in plan_of(40, limit=k).samples.samples] for k in (5, 10, 40, 50)}
    assert [len(names[k]) for k in (5, 10, 40, 50)] == [5, 10, 40, 40]
    assert set(names[5]) < set(names[10]) and names[10] == sorted(names[10])
    assert [s.id for s in plan_of(40, limit=5, seed=1).samples.samples] != names[5]


def test_what_a_key_depends_on():
    keys = [
        plan_of(12).key(),
        plan_of(12).key(),
        plan_of(13).key(),
        plan_of(12, batch=4).key(),
        plan_of(12, seed=1).key(),
    ]
    assert keys[0] == keys[1] and len(set(keys)) == 4


@pytest.mark.parametrize("settings", [{"batch": 0}, {"seed": -1}, {"limit": 0}, {"shard": 0}, {"decode": "fast"}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(InputError, match="expected"):
        RunSettings(**settings)
    RunSettings(batch=1, seed=0, limit=1, shard=1, decode="gpu")


def test_withdrawn_images_are_left_out():
    samples = list(small_dataset(4, 16))
    gone = Withdrawn("salt", frozenset({hashed_id(samples[1].id, "salt")}))
    assert [s.id for s in gone.present(samples)] == [samples[i].id for i in (0, 2, 3)]
    assert NOBODY.present(samples) is samples and not NOBODY and gone
    assert samples[1].id not in Withdrawn("other", gone.hashes)
    piece = Piece(0, 0, 3, 9, (3, 5, 8))
    assert piece.images == 3 and Piece(0, 0, 3, 9).images == 6


def test_two_images_of_one_name_and_none_at_all():
    one = list(small_dataset(1, 16))
    with pytest.raises(InputError, match="names 2 images"):
        make_plan(TASK, ct.Dataset(ct.DatasetCard(name="d"), one * 2), CARD)
    with pytest.raises(InputError, match="holds no image"):
        make_plan(TASK, ct.Dataset(ct.DatasetCard(name="d"), []), CARD)
    with pytest.raises(InputError, match="truth that age_estimation needs"):
        make_plan(load_task("age_estimation"), ct.Dataset(ct.DatasetCard(name="d"), one), CARD)


@pytest.mark.parametrize(
    ("source", "shown"),
    [(None, None), ("a", "a"), ("/x/y/z", "z"), ("s:a", "s:a"), ("s:/x/y?o=/p", "s:y?o=p"), ("/x:1/y", "y")],
)
def test_published_sources_have_no_folders(source, shown):
    assert bare(source) == shown


def test_groups_of_samples():
    found = list(grouped(list(range(7)), 3, "o"))
    assert [list(g.samples) for g in found] == [[0, 1, 2], [3, 4, 5], [6]] and [g.last for g in found] == [0, 0, 1]
    assert [g.last for g in grouped(list(range(6)), 3)] == [False, True]
    assert [(list(g.samples), g.last) for g in grouped([], 3)] == [([], True)]


# is it the same model?


def test_probed_predictions_are_drawn_and_those_at_the_edges_added():
    stored = {0: {f"a{i}": 0.9 - i / 100 for i in range(20)}, 3: {f"b{i}": None for i in range(9)}}
    few = draw(stored, 0)
    names = [name for some in few.values() for name in some]
    assert len(names) == len(set(names)) and set(few) <= {0, 3}
    lowest = [f"a{i}" for i in range(16, 20)]
    assert set(lowest) <= set(few[0])  # the lowest scores
    assert len(few[3]) >= 4  # and as many that found nothing
    assert 8 <= len(names) <= 16 and draw(stored, 0) == few and draw(stored, 1) != few
    assert sum(map(len, draw({0: {"a": 0.5, "b": None}}, 0).values())) == 2


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (ct.Boxes([[0, 0, 1, 1]] * 2, [0.5, 0.25]), 0.25),
        (ct.Boxes([]), None),
        (ct.Embedding(None), None),
        (ct.Labels({"a": "b"}, {"a": {"b": 0.7, "c": 0.3}, "d": {"e": 0.6, "f": 0.4}}), 0.6),
        (ct.Labels({"a": "b"}), 1.0),
    ],
)
def test_the_lowest_score_of_a_prediction(answer, score):
    assert lowest_score(answer) == score


def test_rounding_is_the_same_prediction_and_more_is_not():
    for near, far in ((1.0005, 1.01), (0.9995, 0.99)):
        base = ct.Embedding(np.array([1.0, 0.5]))
        assert same_answer(base, ct.Embedding(np.array([near, 0.5])))
        assert not same_answer(base, ct.Embedding(np.array([far, 0.5])))
    large = ct.Embedding(np.array([1000.0, 0.0]))
    assert same_answer(large, ct.Embedding(np.array([1000.0, 0.09])))  # small beside the largest number
    assert not same_answer(large, ct.Embedding(np.array([1000.0, 0.11])))
    pixels = np.zeros((100, 100, 3), np.uint8)
    assert same_answer(ct.Picture(pixels), ct.Picture(pixels + 1))
    other = pixels.copy()
    other.ravel()[:30] = 2
    assert same_answer(ct.Picture(pixels), ct.Picture(other))  # one in a thousand
    other.ravel()[:31] = 2
    assert not same_answer(ct.Picture(pixels), ct.Picture(other))
    classes = np.zeros((100, 100), np.uint8)
    changed = classes.copy()
    changed.ravel()[:11] = 1
    assert not same_answer(ct.LabelMap(classes), ct.LabelMap(changed))
    assert not same_answer(ct.Labels({"a": "b"}), ct.Labels({"a": "c"}))
    assert not same_answer(ct.Embedding(None), ct.Embedding(np.ones(2)))
    assert not same_answer(ct.Boxes([[0, 0, 1, 1]]), ct.Boxes([[0, 0, 1, 1]] * 2))


# supervision


def shards(n: int, workers: int = 1) -> tuple[_Shards, list[int], Watch]:
    seen: list[int] = []
    watch = Watch(0.05)
    works = deque(_Work(Piece(k, 0, 10 * k, 10 * k + 10)) for k in range(n))
    return _Shards(works, watch, seen.append, workers), seen, watch


def test_shards_are_given_out_and_counted_once():
    crew, seen, watch = shards(3)
    order = crew.next()
    assert [piece["number"] for piece in order["pieces"]] == [0, 1, 2] and crew.next() is None
    crew.heard(order, {"shard": 0, "asking": ["a"]})
    crew.heard(order, {"shard": 0, "answered": 4, "failures": []})
    failure = {"sample": "x", "kind": "model", "reason": "r"}
    crew.heard(order, {"shard": 0, "answered": 6, "failures": [failure]})
    assert seen == [4, 6] and watch.answered == 9 and watch.failed == {"x": "r"}
    crew.heard(order, {"shard": 0, "commit": "stored"})
    assert crew.left == 2 and not crew.finished()
    crew.heard(order, {"shard": 1, "commit": local.Committed.DIFFERENT})
    assert watch.differed == {1} and crew.left == 1
    crew.heard(order, {"shard": 2, "commit": "stored"})
    assert crew.finished()


def test_a_death_is_searched_image_by_image_and_the_image_blamed():
    crew, seen, watch = shards(2)
    order = crew.next()
    crew.heard(order, {"shard": 0, "answered": 4, "failures": []})
    crew.died(order, Death("ended with code 1"))
    careful = crew.next()
    assert careful["careful"] and careful["piece"]["number"] == 0 and careful["known_failures"] == {}
    crew.heard(careful, {"shard": 0, "answered": 4, "failures": []})
    assert seen == [4]  # told before
    crew.heard(careful, {"shard": 0, "answered": 1, "failures": []})
    assert seen == [4, 1]
    crew.heard(careful, {"shard": 0, "asking": ["bad"]})
    crew.died(careful, Death("ended with code 1"))
    alone = crew.next()  # images before it were answered: is it this one, or the number of calls?
    assert alone["alone"] == "bad" and watch.failed == {}
    crew.died(alone, Death("ended with code 1"))
    assert watch.failed == {"bad": "ended with code 1"} and watch.lost == 1
    again = crew.next()
    assert again["known_failures"] == {"bad": "ended with code 1"}
    crew.heard(again, {"shard": 0, "commit": "stored"})
    other = crew.next()  # the second shard had not been begun
    assert [piece["number"] for piece in other["pieces"]] == [1]


def test_a_worker_that_was_killed_is_tried_again_once():
    crew, _, watch = shards(1)
    crew.died(crew.next(), Death("killed", signal=9))
    for k in range(2):
        order = crew.next()
        crew.heard(order, {"shard": 0, "asking": ["bad"]})
        crew.died(order, Death("killed by signal 9", signal=9))
        assert ("bad" in watch.failed) == (k == 1)
    crew, _, watch = shards(1)
    crew.died(crew.next(), Death("late", signal=9, overdue=True))
    order = crew.next()
    crew.heard(order, {"shard": 0, "asking": ["bad"]})
    crew.died(order, Death("late", signal=9, overdue=True))
    assert watch.failed == {"bad": "late"}


def test_deaths_without_end_and_between_images_stop_the_run():
    crew, _, _ = shards(1)
    crew.died(crew.next(), Death("gone"))
    with pytest.raises(InputError, match="ended between two images: gone"):
        crew.died(crew.next(), Death("gone"))
    crew, _, _ = shards(30, workers=2)
    for k in range(10):
        crew.died(crew.next(), Death("gone")) if k == 0 else None
        crew.deaths = k + 1
    crew.waiting = deque(_Work(Piece(k, 0, 0, 1)) for k in range(4))
    with pytest.raises(InputError, match="11 worker processes in a row ended without a prediction; the last: gone"):
        crew.died(crew.next(), Death("gone"))
    with pytest.raises(InputError, match=r"stopped at the first failure \(strict\): s: r"):
        crew.done({}, {"stop": "s: r"})


@pytest.mark.parametrize(("pieces", "workers", "share"), [(5, 1, 5), (5, 2, 1), (16, 2, 4), (100, 2, 8), (1, 9, 1)])
def test_the_share_of_a_worker(pieces, workers, share):
    assert fair_share(pieces, workers) == share
    crew, _, _ = shards(pieces, workers)
    assert len(crew.next()["pieces"]) == share


def test_supervisors_of_probes_and_of_one_order():
    probes = _Probes([{"probe": ["a"]}, {"probe": ["b"]}])
    first, second = probes.next(), probes.next()
    assert probes.next() is None
    probes.orders = [second]
    probes.done(first, {"difference": None})
    assert not probes.finished()
    probes.orders = []
    probes.done(second, {"difference": {"sample": "b", "repeatable": False}})
    assert probes.finished() and probes.difference == Difference("b", False)
    dead = _Probes([])
    dead.died({"probe": ["c"]}, Death("gone"))
    assert dead.difference == Difference("c", True)


@pytest.mark.parametrize("images", [1, 2, 7, 16])
def test_a_harmful_image_is_found_by_halves(images):
    for bad in range(images):
        search, tries = Bisection(images), 0
        while search.culprit is None and not search.over:
            low, high = search.candidates()
            assert 0 <= low < high <= images
            search.tell(low <= bad < high)
            tries += 1
        assert search.culprit == bad and not search.over and tries <= int(np.ceil(np.log2(images))) + 1
    harmless = Bisection(images)
    while not harmless.over:
        harmless.tell(False)
    assert harmless.culprit is None and Bisection(0).over


def test_settings_of_an_engine():
    assert set(thread_environment(2, 3).values()) == {"3"} and len(thread_environment(2, None)) == 4
    for wrong in ({"decoders": -1}, {"workers": 0}, {"engine": "x"}, {"address": "a"}, {"gpus_per_worker": 1.0}):
        with pytest.raises(InputError):
            EngineSettings(**wrong)
    EngineSettings(decoders=0, workers=1, engine="ray", address="a", gpus_per_worker=1)
    cores = __import__("os").cpu_count()
    assert EngineSettings().decode_processes("cuda:0") == max(1, cores - 1)
    assert EngineSettings(workers=64).decode_processes("cuda") == 1
    assert EngineSettings().time_limit == 120 and EngineSettings().max_failures == 0.05


def test_why_a_run_stops():
    watch = Watch(0.05)
    with pytest.raises(InputError, match="stopped: the first 10 images all failed; the first, s0: x 1; 1 more reason"):
        for i in range(10):
            watch.saw(0, [{"sample": f"s{i}", "kind": "model", "reason": f"x {i + 1}" if i < 9 else "y"}])
    with pytest.raises(InputError, match="all 2 images failed; the first, a: r"):
        Watch(0.05).finished([{"sample": "a", "reason": "r"}, {"sample": "b", "reason": "r"}], 2)
    with pytest.raises(InputError, match="the only image failed"):
        Watch(0.99).finished([{"sample": "a", "reason": "r"}], 1)
    Watch(1.0).finished([{"sample": "a", "reason": "r"}], 1)
    Watch(0.05).finished([{"sample": "a", "reason": "r"}], 2)
    Watch(0.05).finished([], 0)
    assert first_reason({"a": "x 1.5e-3", "b": "x 7", "c": "y", "d": "z"}).endswith("2 more reasons among the others")


# shared memory and feeding


def test_blocks_of_an_arena_never_overlap():
    random = np.random.default_rng(0)
    arena, held, waited = Arena(1000), deque(), 0
    for _ in range(3000):
        size = int(random.integers(0, 400))
        start = arena.take(size)
        if start is None:
            waited += 1
            assert held
            arena.free()
            held.popleft()
            continue
        end = start + max(size, 1)
        assert start >= 0 and end <= 1000
        assert all(end <= a or b <= start for a, b in held)
        held.append((start, end))
    assert waited > 100 and Arena(100).take(100) == 0 and Arena(100).take(101) is None
    view = arena.view(10, (2, 3))
    view[:] = 7
    assert arena.bytes[9:17].tolist() == [0, *[7] * 6, 0]
    freed: list[int] = []
    arena.on_free = lambda: freed.append(1)
    arena.free()
    assert freed == [1]


def test_batches_are_decoded_ahead_within_bounds(monkeypatch):
    samples = list(small_dataset(12, 16))
    assert pixel_bytes(samples[:3]) == 3 * 16 * 16 * 3
    drawn: list[int] = []

    def groups():
        for k in range(0, 12, 2):
            drawn.append(k)
            yield FedGroup(samples[k : k + 2], k)

    feed = by_thread(groups())
    first = next(feed)
    assert first.group.owner == 0 and len(drawn) == AHEAD + 2
    pixels, digest, points = first.pictures[0]
    assert pixels.shape == (16, 16, 3) and len(digest) == 64 and (points.height, points.width) == (16, 16)
    assert [batch.group.owner for batch in feed] == [2, 4, 6, 8, 10]
    monkeypatch.setattr("countenance.run.feeding.BUDGET", 2 * 2 * 16 * 16 * 3)  # two batches
    drawn.clear()
    next(by_thread(groups()))
    assert len(drawn) == 3
    assert next(batch.pictures for batch in without_pixels(groups())) == [None, None]


def test_values_ahead_stop_with_their_reader_and_carry_errors():
    made: list[int] = []

    def source():
        for k in itertools.count():
            made.append(k)
            yield k

    values = ahead(source, 2)
    assert [next(values), next(values)] == [0, 1]
    values.close()
    count = len(made)
    assert count <= 6

    def broken():
        yield 1
        raise KeyError("x")

    values = ahead(broken, 2)
    assert next(values) == 1
    with pytest.raises(KeyError):
        next(values)


# tables


def test_rows_and_failures_as_tables():
    subject = ct.Subject("0", "p", attributes={"tone": "a", "age": 31.0, "kind": ("x", "y")})
    sample = ct.Sample(
        "s", ct.ArrayImage(np.zeros((4, 4, 3), np.uint8)), 4, 4, (subject, ct.Subject("1")), {"light": "dim"}
    )
    columns = columns_of(TASK, attribute_kinds([sample]))
    table = rows_table(
        [{"sample": "s", "attr.age": 31.0, "attr.kind": ("x", "y"), "m.extra": 0.5}, {"sample": "t"}], columns
    )
    assert table["attr.kind"].to_pylist() == [["x", "y"], None] and table["m.extra"].to_pylist() == [0.5, None]
    assert table.column_names[:3] == ["sample", "subject", "identity"] and table.column_names[-1] == "m.extra"
    text = rows_table([{"a": 2.0, "b": "q", "c": "one"}], {"a": "string", "b": "string", "c": "list"})
    assert text.to_pylist() == [{"a": "2", "b": "q", "c": ["one"]}]
    row = failure_row(sample, "model", "r\ud800" + "x" * 600)
    assert row["people"] == ["p", "1"] and len(row["reason"]) == 500 and "age" not in row["attributes"]
    assert row["attributes"] == {"light": ["dim", "dim"], "tone": ["a", None], "kind": ["x, y", None]}
    failures = failure_table([row], attribute_kinds([sample]))
    assert failures["attr.tone"].to_pylist() == [["a", None]] and "attr.age" not in failures.column_names
    both = together([table, table.drop_columns(["m.extra"])])
    assert both["m.extra"].to_pylist() == [0.5, None, None, None]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("a\nb\na\n", ["a", "b"]),
        ("# all\na # one\nb#2\n", ["a", "b#2"]),
        ("subject_id\nx\ny\n", ["x", "y"]),
        ("date;Person\n1;p\n2;q\n3\n", ["p", "q"]),
        ("n\tID\n1\tk\n", ["k"]),
        ("identity,id\nu,v\n", ["u"]),
    ],
)
def test_lists_of_people(tmp_path: Path, text, ids):
    (tmp_path / "l").write_text(text)
    assert read_subjects(tmp_path / "l") == ids


@pytest.mark.parametrize(
    ("text", "message"), [("", "names nobody"), ("a,b\n1,2\n", "2 columns and none of"), ("#\n", "names nobody")]
)
def test_lists_of_nobody(tmp_path: Path, text, message):
    (tmp_path / "l").write_text(text)
    with pytest.raises(InputError, match=message):
        read_subjects(tmp_path / "l")


def test_licences():
    assert names_in("MIT and MIT, BSD-3-Clause or Apache License, Version 2.0") == [
        "MIT",
        "BSD-3-Clause",
        "Apache License, Version 2.0",
    ]
    allowed = Allowed(("Apache-2.0", "CC-BY*", "ask me"))
    for text, why in (
        ("Apache License, Version 2.0", None),
        ("Ask me", None),
        ("", "it is not stated"),
        ("CC BY 4.0", None),
        ("free", "it names no licence that is known here"),
        ("CC-BY-NC-4.0; GPL-3.0", "GPL-3.0 is not allowed"),
    ):
        assert allowed.refused(text) == why, text
