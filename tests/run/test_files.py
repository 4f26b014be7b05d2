"""Reading processes: files in shared memory for a decoder on a GPU, checked, in their order."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from countenance.data import Sample
from countenance.data.image import LazyImage
from countenance.data.jpeg import sample_file, upright
from countenance.run.engine.decoding import Decoders, EncodedFile
from countenance.run.feeding import FedGroup


def test_files_come_in_order_with_their_hash_and_damage_is_a_failed_image(tmp_path: Path) -> None:
    import hashlib

    samples, contents = [], []
    for k in range(7):
        content = sample_file() + b"" if k != 5 else b"GIF89a" + bytes(40)
        path = tmp_path / f"{k}.jpg"
        path.write_bytes(content)
        contents.append(content)
        digest = hashlib.sha256(content).hexdigest()
        samples.append(Sample(str(k), LazyImage(path), 37, 23, sha256="0" * 64 if k == 3 else digest))
    samples.append(Sample("gone", LazyImage(tmp_path / "gone.jpg"), 37, 23))
    readers = Decoders(2, None, size=2**20, files=True)
    try:
        for _ in range(3):  # memory is used again
            batches = list(readers.read(FedGroup(samples[i : i + 3]) for i in range(0, len(samples), 3)))
            found = []
            for batch in batches:
                found += [bytes(one.content) if isinstance(one, EncodedFile) else one for one in batch.files]
                flags = [one.upright for one in batch.files if isinstance(one, EncodedFile)]
                assert flags == [s.id != "5" for s in batch.group.samples if s.id not in ("3", "gone")]
                batch.free()
            assert [found[k] for k in (0, 1, 2, 4, 5, 6)] == [contents[k] for k in (0, 1, 2, 4, 5, 6)]
            assert "has changed since the dataset was made" in str(found[3])
            assert isinstance(found[7], Exception)
    finally:
        readers.close()


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("orientation", [None, 1, 6])
def test_what_a_gpu_may_decode(tmp_path: Path, mode: str, orientation: int | None) -> None:
    exif = Image.Exif()
    if orientation:
        exif[0x0112] = orientation
    Image.fromarray(np.zeros((16, 24, 3), np.uint8)).convert(mode).save(tmp_path / "p.jpg", exif=exif)
    content = (tmp_path / "p.jpg").read_bytes()
    assert upright(content) == (mode != "CMYK" and orientation != 6)
    assert not upright(content[:-20])
