"""The stored predictions of a run, decoded one image at a time."""

import re
import threading
from collections import OrderedDict
from typing import Any

from countenance.answers import Answer
from countenance.answers.store import answers_from_table
from countenance.decoding import read_parquet
from countenance.errors import InputError
from countenance.run.store import RunStore
from countenance.storage import Missing

MOST = 96 * 2**20
"""The most bytes of shards that are kept undecoded; an image's prediction is decoded when it is shown."""


class StoredPredictions:
    """The model's predictions, by sample."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self._places: dict[str, tuple[int, int]] | None = None
        self._files: list[str] = []
        self._shards: OrderedDict[int, Any] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, sample: str) -> Answer | None:
        """The prediction of a sample, or None; InputError if its file is damaged."""
        with self._lock:
            if self._places is None:
                self._places = self._read_places()
            if sample not in self._places:
                return None
            file, row = self._places[sample]
            table = self._shard(file)
        return answers_from_table(table.slice(row, 1), self._files[file]).get(sample)

    def _read_places(self) -> dict[str, tuple[int, int]]:
        """The place of each sample's prediction: file and row, without files that cannot be read."""
        self._files = self.store.answer_files()
        places: dict[str, tuple[int, int]] = {}
        for number, name in enumerate(self._files):
            try:
                with self.store.storage.open(name) as source:
                    samples = read_parquet(source, name, ["sample"])["sample"].to_pylist()
            except (InputError, OSError, KeyError, Missing):
                continue
            places |= {str(sample): (number, row) for row, sample in enumerate(samples)}
        return places

    def _shard(self, file: int) -> Any:
        if file not in self._shards:
            number = int(re.split("[.-]", self._files[file].rpartition("/")[2])[0])
            self._shards[file] = self.store.shard_answer_table(number)
            while len(self._shards) > 1 and sum(table.nbytes for table in self._shards.values()) > MOST:
                self._shards.popitem(last=False)
        self._shards.move_to_end(file)
        return self._shards[file]
