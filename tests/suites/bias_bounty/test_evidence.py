"""Non-faces are found from the randomness of their labels: no blank label, no list, no identity is needed."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, organiser_folder, read_names

torch = pytest.importorskip("torch")

from countenance.suites.bias_bounty.training.fixed_features import SIZE, portrait_features, trimmed_whitening  # noqa: E402
from countenance.suites.bias_bounty.training.images import read_train  # noqa: E402
from countenance.suites.bias_bounty.training.label_noise import label_evidence, meant_labels  # noqa: E402

COUNTS = {name: len(CLASSES[name]) for name in ATTRIBUTES}

pytestmark = pytest.mark.slow  # fits features to the embedded people again and again


def auc(faces: np.ndarray, others: np.ndarray) -> float:
    return float(mannwhitneyu(faces, others).statistic / (len(faces) * len(others)))


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def embedded_faces(embedded: Path, change: dict[str, np.ndarray] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The posterior of each picture in train, and whether it is a face."""
    images = read_train(embedded)
    outside = set(read_names(organiser_folder(embedded, "train") / "nonfaces.txt"))
    targets = {name: torch.from_numpy((change or images.codes)[name]) for name in ATTRIBUTES}
    found = meant_labels(portrait_features(images.tensor(SIZE, "cpu").float()), targets, COUNTS).numpy()
    return found, np.array([name not in outside for name in images.names])


def test_random_labels_give_non_faces_away(embedded: Path) -> None:
    found, face = embedded_faces(embedded)
    assert auc(found[face], found[~face]) > 0.97
    assert (found[face] > 0.5).mean() > 0.95
    assert (found[~face] < 0.5).mean() > 0.85


def test_where_every_row_is_labelled_they_are_found_as_well(embedded: Path) -> None:
    """Rows with a blank are left out: nothing rests on blanks."""
    images = read_train(embedded)
    whole = np.all([images.codes[name] >= 0 for name in ATTRIBUTES], axis=0)
    outside = set(read_names(organiser_folder(embedded, "train") / "nonfaces.txt"))
    face = np.array([name not in outside for name in images.names])[whole]
    rows = np.flatnonzero(whole)
    pixels = images.tensor(SIZE, "cpu").float()[rows]
    targets = {name: torch.from_numpy(images.codes[name][rows]) for name in ATTRIBUTES}
    assert all((codes >= 0).all() for codes in targets.values())
    found = meant_labels(portrait_features(pixels), targets, COUNTS).numpy()
    assert auc(found[face], found[~face]) > 0.97


def test_if_all_labels_are_random_nothing_is_called_a_face_with_confidence(embedded: Path) -> None:
    rng = np.random.default_rng(0)
    images = read_train(embedded)
    shuffled = {name: rng.integers(0, len(CLASSES[name]), len(images.names)) for name in ATTRIBUTES}
    found, face = embedded_faces(embedded, shuffled)
    assert abs(auc(found[face], found[~face]) - 0.5) < 0.25
    assert (found > 0.9).mean() < 0.2


def test_evidence_is_of_models_that_did_not_see_the_row() -> None:
    """With nothing to learn, in-sample evidence would be positive; left-out evidence is not."""
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(300, 20, generator=generator).double()
    targets = {name: torch.randint(len(CLASSES[name]), (300,), generator=generator) for name in ATTRIBUTES}
    fold = torch.arange(300) % 5
    assert float(label_evidence(values, targets, COUNTS, torch.ones(300).double(), fold).mean()) < 0
    tone = (values[:, 0] > 0).long() * 9
    told = label_evidence(values, targets | {"skin_tone": tone}, COUNTS, torch.ones(300).double(), fold)
    assert float(told.mean()) > 0.2


def test_rows_without_any_label_have_no_evidence() -> None:
    values = torch.randn(50, 4).double()
    targets = {name: torch.full((50,), -1) for name in ATTRIBUTES}
    assert not label_evidence(values, targets, COUNTS, torch.ones(50).double(), torch.arange(50) % 5).any()


def test_the_bulk_is_found_among_outliers() -> None:
    rng = np.random.default_rng(1)
    bulk, far = rng.normal(size=(200, 5)), rng.normal(size=(50, 5)) * 0.5 + 8
    values = torch.from_numpy(np.concatenate([bulk, far])).float()
    centre, whitening = trimmed_whitening(values, 0.8)
    away = ((values - centre) @ whitening).norm(dim=1).numpy()
    assert away[:200].max() < away[200:].min()
