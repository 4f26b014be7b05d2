"""Finds the files beside an ONNX network that hold its weights, from its bytes, without opening it.

A network may name any file as the place of its weights. The names must be known before a foreign network is run, and a
hash of the network does not cover such files.
"""

from collections.abc import Iterator

MOST_NESTED = 100
"""The deepest nesting of subgraphs and attributes that is read; protocol buffers allow no deeper."""
_MESSAGES = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}
"""The messages of ONNX that lead to a tensor, by the numbers of their fields."""
_VARINT, _LONG, _BYTES, _SHORT = 0, 1, 2, 5
_KEY, _VALUE, _LOCATION = 1, 2, b"location"


def external_weights(content: bytes) -> list[str]:
    """The files that hold weights of an ONNX network; ValueError if the bytes are not an ONNX network.

    >>> entry = bytes([10, 8]) + b"location" + bytes([18, 5]) + b"w.bin"
    >>> tensor = bytes([0x6A, len(entry)]) + entry
    >>> graph = bytes([0x2A, len(tensor)]) + tensor
    >>> external_weights(bytes([0x3A, len(graph)]) + graph), external_weights(b"")
    (['w.bin'], [])
    """
    return list(dict.fromkeys(_locations(memoryview(content), "model", 0)))


def _locations(content: memoryview, kind: str, depth: int) -> Iterator[str]:
    if depth > MOST_NESTED:
        raise ValueError(f"more than {MOST_NESTED} messages within each other")
    for number, part in _fields(content):
        inner = _MESSAGES[kind].get(number)
        if inner == "entry":
            pair = dict(_fields(part))
            if bytes(pair.get(_KEY, b"")) == _LOCATION:
                yield bytes(pair.get(_VALUE, b"")).decode(errors="replace")
        elif inner is not None:
            yield from _locations(part, inner, depth + 1)


def _fields(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The fields of a message whose values are bytes, with their numbers."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            _, at = _varint(content, at)
        elif kind == _BYTES:
            length, at = _varint(content, at)
            if length > len(content) - at:
                raise ValueError("a field is longer than its message")
            yield number, content[at : at + length]
            at += length
        elif kind in (_LONG, _SHORT):
            at += 8 if kind == _LONG else 4
        else:
            raise ValueError(f"a field of kind {kind}")


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    """A number and the place after it."""
    value = 0
    for place in range(at, min(at + 10, len(content))):
        value |= (content[place] & 127) << 7 * (place - at)
        if content[place] < 128:
            return value, place + 1
    raise ValueError("a number without an end")
