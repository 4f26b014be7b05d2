"""Files that a network names as the place of its weights, however deep and however written."""

import pytest

from countenance.models.external_weights import MOST_NESTED, external_weights


def field(number: int, content: bytes, *, long: bool = False) -> bytes:
    """A field of bytes; `long` writes its length with a needless further byte, which protocol buffers allow."""
    tag = bytes([number << 3 & 127 | 2 | 128, number >> 4]) if number > 15 else bytes([number << 3 | 2])
    size = len(content)
    length = bytes([size & 127 | 128, size >> 7]) if long or size > 127 else bytes([size])
    return tag + length + content


def entry(place: str, *, long: bool = False, turned: bool = False) -> bytes:
    parts = [field(1, b"location", long=long), field(2, place.encode())]
    return field(13, b"".join(reversed(parts) if turned else parts))


@pytest.mark.parametrize("how", [{}, {"long": True}, {"turned": True}])
def test_the_place_is_read_however_it_is_written(how):
    network = field(7, field(5, field(8, b"w") + entry("../labels.csv", **how)))
    assert external_weights(network) == ["../labels.csv"]


def test_places_in_subgraphs_functions_and_attributes():
    tensor = entry("a")
    attribute = field(5, field(5, entry("b")) + field(10, entry("c")) + field(6, field(5, entry("d"))))
    sparse = field(15, field(1, entry("e")))
    function = field(25, field(7, field(5, field(5, entry("f")))))
    network = field(7, field(5, tensor) + field(1, attribute) + sparse) + function
    assert external_weights(network) == list("abcdef")


def test_other_words_and_data_are_no_places():
    metadata = field(14, field(1, b"location") + field(2, b"here"))
    raw = field(9, field(1, b"location") + field(2, b"x"))
    assert external_weights(metadata + field(7, field(5, raw) + b"\x08\x01\x15abcd\x11abcdefgh")) == []


def test_what_is_no_network_is_refused():
    deep = b""
    for _ in range(MOST_NESTED):
        deep = field(6, field(1, field(5, deep)))
    with pytest.raises(ValueError, match="within each other"):
        external_weights(field(7, field(1, field(5, deep))))
    for content, message in (
        (b"\x3a\x7f", "longer than its message"),
        (b"\x0b", "a field of kind 3"),
        (b"\xff" * 12, "without an end"),
        (b"\x80", "without an end"),
    ):
        with pytest.raises(ValueError, match=message):
            external_weights(content)


def test_a_network_with_external_weights_as_onnx_writes_it(tmp_path):
    onnx = pytest.importorskip("onnx")
    weights = onnx.numpy_helper.from_array(__import__("numpy").zeros(400, "float32"), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["w"], ["y"])],
        "g",
        [],
        [onnx.helper.make_tensor_value_info("y", 1, [400])],
        [weights],
    )
    model = onnx.helper.make_model(graph)
    assert external_weights(model.SerializeToString()) == []
    onnx.save(model, tmp_path / "n.onnx", save_as_external_data=True, location="n.data", size_threshold=1)
    assert external_weights((tmp_path / "n.onnx").read_bytes()) == ["n.data"]
