"""Evaluations, sweeps, asking and methods of others, with stand-ins that note what they were given."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from countenance.data.adapters import happyfaces
from countenance.data.adapters.happyfaces_layout import MATCHED, TAGS, HappyFaces, make_photos
from countenance.errors import InputError
from countenance.suites.happyfaces import methods, model, protocol
from countenance.suites.happyfaces import questions as asking
from countenance.suites.happyfaces.draws import draw, method_input
from countenance.suites.happyfaces.interface import Heads
from countenance.suites.happyfaces.protocol import MixTask


def photos(tags: tuple[str, ...], each: int, start: int):
    kinds = [tag for tag in tags for _ in range(each)]
    pixels = [np.full((2, 3, 3), start + k, np.uint8) for k in range(len(kinds))]
    return make_photos(pixels, kinds, [f"{start + k}.png" for k in range(len(kinds))], "here")


@pytest.fixture
def data() -> HappyFaces:
    return HappyFaces(photos(MATCHED, 4, 0), photos(TAGS, 5, 20), photos(TAGS, 2, 60))


class Given:
    """Notes how it was made and fitted; says of each photo the truth of its number."""

    calls: list

    def __init__(self, seed, k=0):
        type(self).calls.append((seed, k))

    def fit(self, labelled, labels, unlabelled):
        type(self).calls.append((labelled[:, 0, 0, 0].tolist(), labels.tolist(), unlabelled[:, 0, 0, 0].tolist()))
        return self

    def predict(self, pictures):
        return np.full((len(pictures), 2), 0.75)


def test_an_evaluation_gives_the_method_its_seed_its_options_and_shuffled_photos(data):
    Given.calls = []
    record, _ = protocol.run(data, MixTask(Given, 0.4, 3, (("k", 7),)))
    assert Given.calls[0] == (3, 7) and record["options"] == {"k": 7} and record["mix_rate"] == 0.4
    order = np.random.default_rng([3, 1]).permutation(8)
    pixels = data.labelled.pixels[:, 0, 0, 0][order]
    labels = [int(data.labelled.tags[i][1] == "H") for i in order]
    drawn = draw(data.unlabelled.tags, 0.4, 3).drawn
    assert Given.calls[1] == (pixels.tolist(), labels, data.unlabelled.pixels[drawn][:, 0, 0, 0].tolist())
    assert 0 <= record["seconds"] < 600 and 0 <= record["cpu_seconds"] < 60
    assert record["answered"] is True and record["validation"]["worst_head"] == 0.5
    mixed = HappyFaces(photos(("FHWS", "FSWH"), 2, 0), data.unlabelled, data.validation)
    assert sorted(method_input(mixed, drawn, 0)[1].tolist()) == [0, 0, 1, 1]
    assert method_input(mixed, drawn, 0)[1].tolist() == [
        int(mixed.labelled.tags[i][1] == "H") for i in np.random.default_rng([0, 1]).permutation(4)
    ], "a label is about the first feature"


def test_a_draw_is_numpy_s_choice_of_each_type_then_shuffled():
    tags = tuple(tag for tag in TAGS for _ in range(20))
    rng = np.random.default_rng(9)
    expected = [rng.choice(np.arange(20) + 20 * k, n, replace=False) for k, n in enumerate((14, 6, 6, 14))]
    chosen = np.concatenate(expected)
    rng.shuffle(chosen)
    result = draw(tags, 0.3, 9)
    assert result.drawn.tolist() == chosen.tolist() and result.not_drawn.tolist() == sorted(
        set(range(80)) - set(chosen)
    )
    assert len(draw(tags, 1.0, 0).drawn) == 40 == len(draw(tags, 0.0, 0).drawn)


def test_a_part_without_photos_is_not_predicted(data):
    heads = Heads(lambda pictures: np.ones((len(pictures), 2)))
    result = asking.predicted(heads, {"validation": data.validation, "not_drawn": data.unlabelled.take([])})
    assert result["validation"][1].shape == (8, 2) and result["not_drawn"][1].shape == (0, 2)
    assert result["not_drawn"][1].tolist() == [] and result["validation"][1].all()


def test_a_sweep_uses_processes_for_two_or_more_runs(data, monkeypatch, tmp_path: Path):
    tasks = [MixTask("erm", 0.1, seed) for seed in range(3)]
    alone, together, steps = [], [], []
    monkeypatch.setattr(protocol, "_dataset", lambda *arguments: data)

    class OneByOne:
        def __init__(self, job):
            self.job = job

        def record(self, task, step=lambda: None):
            alone.append(task)
            step()
            return {"seed": task.seed}

        def close(self):
            alone.append("closed")

    def each(work, job, orders, *, workers, done):
        together.append((job, len(orders), workers))
        for k, order in enumerate(orders):
            done(k, order)
        return [{"seed": order["seed"]} for order in orders]

    monkeypatch.setattr(protocol, "Sweeper", OneByOne)
    monkeypatch.setattr(protocol, "each", each)

    def swept(jobs: int | None, count: int):
        alone.clear(), together.clear(), steps.clear()
        how = {} if jobs is None else {"jobs": jobs}
        records = protocol.sweep(tmp_path, tasks[:count], tmp_path / "runs", step=lambda n=1: steps.append(n), **how)
        assert [record["seed"] for record in records] == list(range(count)) and sum(steps) == count
        return len(alone), [(n, workers) for _, n, workers in together]

    assert swept(None, 3) == (4, []) and alone[-1] == "closed" and swept(1, 3) == (4, []) and swept(2, 1) == (2, [])
    assert swept(2, 2) == (0, [(2, 2)]) and together[0][0]["held_back"] == ""
    (tmp_path / "runs").write_text("")
    with pytest.raises(InputError, match="is a file; name a folder"):
        protocol.sweep(tmp_path, tasks, tmp_path / "runs")


def test_a_process_has_a_day_for_a_run_and_one_thread(monkeypatch, tmp_path: Path):
    limits, calls = {}, []
    monkeypatch.setattr(protocol, "_dataset", lambda *arguments: calls.append(arguments) or "photos")
    monkeypatch.setattr(protocol, "evaluate_method", lambda *arguments, **how: calls.append((arguments, how)) or "run")
    monkeypatch.setattr(protocol, "record_of", lambda run: {"run": run})
    handle = protocol.worker({"source": "s", "folder": str(tmp_path), "held_back": ""})
    order = {"method": "erm", "mix_rate": 0.1, "seed": 2, "options": [["k", 1]]}
    task = MixTask("erm", 0.1, 2, (("k", 1),))
    assert handle(order, lambda **words: limits.update(words)) == {"run": "run"}
    assert limits == {"limit": 24 * 60 * 60} and calls[0] == (Path("s"), None)
    assert calls[1][0] == ("photos", task, tmp_path / task.run_name())
    assert calls[1][1]["host"].pool.environment["OMP_NUM_THREADS"] == "1"
    protocol.worker({"source": "s", "folder": str(tmp_path), "held_back": "h"})(order, lambda **_: None)
    assert calls[2] == (Path("s"), Path("h")) and calls[3][1]["source"].endswith("/h")


def test_one_dataset_is_held_in_memory():
    assert protocol._dataset.cache_parameters()["maxsize"] == 1


class Learns:
    """A method that can be asked: the first head's disagreement grows with the photo's number."""

    def __init__(self):
        self.asked = []

    def fit(self, labelled, labels, unlabelled):
        return Heads(self.predict)

    def fit_with_answers(self, labelled, labels, unlabelled, questions, answers):
        self.asked.append((len(unlabelled), questions[:, 0, 0, 0].tolist(), answers.tolist()))
        return Heads(self.predict)

    def predict(self, pictures):
        value = pictures[:, 0, 0, 0] / 255.0
        return np.stack([0.5 + value / 2, 0.5 - value / 2], 1)


def test_questions_are_asked_in_batches_where_heads_disagree_most(data, monkeypatch):
    method, steps, seeds = Learns(), [], []
    monkeypatch.setattr(asking, "make_method", lambda name, seed: seeds.append((name, seed)) or method)
    chosen = draw(data.unlabelled.tags, 0.4, 2).drawn
    values = data.unlabelled.pixels[chosen][:, 0, 0, 0]
    most = [int(chosen[i]) for i in np.argsort(-values.astype(int), kind="stable")]
    oracle = asking.simulated(data)
    result = asking.ask(
        data, oracle, MixTask("spatial", 0.4, 2), questions=5, batch=2, step=lambda n=1: steps.append(n)
    )
    truth = data.unlabelled.truth()
    assert [row[0] for row in result["answers"]] == most[:5] and len(steps) == 5 and seeds == [("spatial", 2)]
    assert result["answers"] == [[k, int(truth[k, 0]), int(truth[k, 1])] for k in most[:5]]
    assert result["disagreeing_answers"] == sum(truth[k, 0] != truth[k, 1] for k in most[:5])
    assert [point["questions"] for point in result["curve"]] == [0, 2, 4, 5] and result["order"] == "disagreement"
    assert [(rest, len(questions)) for rest, questions, _ in method.asked] == [(8, 2), (6, 4), (5, 5)]
    outcome = np.array([truth[k] for k in most[:5]], int)
    # the first head says yes of all, the second no: the feature that more answers say yes to is the first head's
    agree = [(outcome[:, a] == 1).sum() + (outcome[:, b] == 0).sum() for a, b in ((0, 1), (1, 0))]
    assert method.asked[-1][2] == outcome[:, (0, 1) if agree[0] >= agree[1] else (1, 0)].tolist()
    every = asking.ask(data, oracle, MixTask("spatial", 0.4, 2), questions=99, batch=50, by_disagreement=False)
    assert len(every["answers"]) == 9 and every["order"] == "random", "one of ten photos is left to learn from"
    random = np.random.default_rng([2, 2]).permutation(10)
    assert [row[0] for row in every["answers"]] == [int(chosen[i]) for i in random[:9]]
    stopped = asking.ask(data, lambda index: None, MixTask("spatial", 0.4, 2))
    assert stopped["answers"] == [] and [point["questions"] for point in stopped["curve"]] == [0]


def test_by_default_twenty_questions_in_batches_of_five(monkeypatch):
    large = HappyFaces(photos(MATCHED, 4, 0), photos(TAGS, 20, 20), photos(TAGS, 2, 120))
    seeds = []
    monkeypatch.setattr(asking, "make_method", lambda name, seed: seeds.append((name, seed)) or Learns())
    result = asking.ask(large, asking.simulated(large), MixTask("spatial", 0.1, 0))
    assert [point["questions"] for point in result["curve"]] == [0, 5, 10, 15, 20] and result["order"] == "disagreement"
    assert seeds == [("spatial", 0)] and result["mix_rate"] == 0.1 and result["seed"] == 0
    assert [row[0] in draw(large.unlabelled.tags, 0.1, 0).drawn for row in result["answers"]] == [True] * 20


def test_the_two_ways_are_compared_by_both_heads(data, monkeypatch):
    """Answers (yes, no) for heads that said (no, yes): the way is turned."""
    method = Learns()
    method.predict = lambda pictures: np.tile([0.5, 0.9], (len(pictures), 1))  # .5 is no yes
    monkeypatch.setattr(asking, "make_method", lambda name, seed: method)
    asking.ask(data, lambda index: (True, False), MixTask("spatial", 0.1, 0), questions=1)
    assert method.asked[0][2] == [[0, 1]]
    asking.ask(data, lambda index: (False, True), MixTask("spatial", 0.1, 0), questions=1)
    assert method.asked[1][2] == [[0, 1]]


def test_questions_at_the_terminal_are_numbered(data, tmp_path: Path, monkeypatch, capsys):
    text = iter(["y", "n", "y", "y"])
    questions = []
    monkeypatch.setattr("builtins.input", lambda question: questions.append(question) or next(text))
    (tmp_path / "a" / "b").mkdir(parents=True)
    oracle = asking.at_the_terminal(data, tmp_path / "a" / "b")
    assert (
        oracle(3) == (True, False)
        and oracle(4) == (True, True)
        and "smiling" in questions[0]
        and "HAPPY" in questions[1]
    )
    assert "Question 2: look at" in capsys.readouterr().out
    names = sorted(path.name for path in (tmp_path / "a" / "b").iterdir())
    assert names == ["question.html", "question_001.png", "question_002.png"]
    page = (tmp_path / "a" / "b" / "question.html").read_text("utf-8")
    assert 'src="question_002.png"' in page and "Does the writing say HAPPY?" in page and 'http-equiv="refresh"' in page
    asking.at_the_terminal(data, tmp_path / "new" / "folder")
    assert (tmp_path / "new" / "folder").is_dir()


def test_a_photo_is_drawn_in_the_terminal_in_its_colours(data, tmp_path: Path, monkeypatch, capsys):
    photo = np.zeros((8, 4, 3), np.uint8)
    photo[:4, :, 0], photo[4:, :, 2] = 200, 100
    lines = asking.in_terminal(photo, width=2).splitlines()
    assert len(lines) == 2 and all(line.count("▀") == 2 for line in lines), "8 × 4 pixels as 4 × 2, two to a character"
    assert "38;2;200;0;0;48;2;200;0;0" in lines[0] and "38;2;0;0;100;48;2;0;0;100" in lines[1]
    monkeypatch.setattr("builtins.input", lambda question: "q")
    asking.at_the_terminal(data, tmp_path, pictures=True)(0)
    assert "▀" in capsys.readouterr().out
    asking.at_the_terminal(data, tmp_path)(0)
    assert "▀" not in capsys.readouterr().out


def test_it_is_said_whether_asking_helped():
    def runs(before: float, after: float, photos: int):
        ends = ((0, before), (20, after))
        return [{"curve": [{"questions": k, "validation": {"worst_head": w, "photos": photos}} for k, w in ends]}]

    assert "no evidence" in asking.effect(runs(0.95, 0.92, 100)) and "-0.030" in asking.effect(runs(0.95, 0.92, 100))
    assert asking.effect(runs(0.6, 0.9, 100)).endswith("asking helped")
    assert asking.effect(runs(0.9, 0.6, 100)).endswith("the answers did harm")
    assert asking.effect([{"curve": runs(0.9, 0.9, 100)[0]["curve"][:1]}]) == ""


def test_probabilities_lie_from_0_to_1():
    assert methods.checked([[0, 1], [1, 0]], 2, "x").tolist() == [[0, 1], [1, 0]]
    assert methods.checked(np.zeros((0, 2)), 0, "x").shape == (0, 2)
    for wrong, outcome in (
        ([[2, 3]], "numbers from 0 to 3"),
        ([[-3, -2]], "numbers from -3 to 0"),
        ([[0.5, 1.01]], "to 1.01"),
    ):
        with pytest.raises(InputError, match=outcome):
            methods.checked(wrong, 1, "x")
    for wrong in ([[np.nan, 0.5]], [[np.inf, 0.5]]):
        with pytest.raises(InputError, match="expected probabilities from 0 to 1"):
            methods.checked(wrong, 1, "x")
    with pytest.raises(InputError, match="an array of 2, expected 1 × 2"):
        methods.checked([0.5, 0.5], 1, "x")


class Callable_:
    """Can be called and has fit: it is a method, not a maker of methods."""

    def __call__(self):
        raise AssertionError

    def fit(self, *extra):
        raise ValueError("first line\nsecond line")


def test_makers_objects_and_errors_of_methods():
    assert methods.make_method(lambda: Callable_()).target is not None
    assert methods.make_method(Callable_()).name == "Callable_" and methods.make_method("erm").seed == 0
    with pytest.raises(InputError, match=r"raised ValueError: first line$"):
        methods.make_method(Callable_()).fit(None, None, None)
    silent = SimpleNamespace(fit=lambda *extra: (_ for _ in ()).throw(ValueError()))
    with pytest.raises(InputError, match=r"raised ValueError: $"):
        methods.make_method(silent).fit(None, None, None)
    assert methods.make_method("spatial", 4, insist=True).insist and methods.make_method("spatial", 4).seed == 4
    assert methods.method_name(Callable_) == "Callable_" and methods.is_code("a:b") and not methods.is_code("erm")
    built = methods.make_method(Given.__new__(Given)).fit(
        *[np.zeros((1, 2, 3, 3), np.uint8), np.zeros(1), np.zeros((1, 2, 3, 3))]
    )
    assert built.notes == {}


def test_a_run_s_dataset_has_the_photos_with_their_sizes(monkeypatch, data):
    monkeypatch.setattr(happyfaces, "read_happyfaces", lambda path, held_back: data)
    loaded = happyfaces.load("somewhere")
    samples = {sample.id: sample for sample in loaded}
    first = samples[data.validation.ids("validation")[0]]
    assert len(samples) == 8 + 20 and (first.width, first.height) == (3, 2) and first.attributes["part"] == "validation"
    assert sum(name.startswith("unlabelled/") for name in samples) == 20
    assert loaded.fingerprint() == data.fingerprint() == loaded.truth_fingerprint()
    assert first.subjects[0].attributes["type"] == "FHWH"
    assert len(model.own_code()) == 64 and model.method_card(Given).name == "Given"
    assert model.method_card("erm").content != model.method_card("spatial").content
