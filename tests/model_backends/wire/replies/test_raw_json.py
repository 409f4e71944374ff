import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.model_backends.wire.replies.raw_json import raw_fields, raw_items

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
VALUES = st.recursive(
    SCALARS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_values_keep_their_spelling() -> None:
    written = rb'{ "id" : "r\u00e9\/1" , "output": [ {"a":1.0e2}, "\ud800" ] }'
    fields = raw_fields(written)
    assert fields == {
        "id": rb'"r\u00e9\/1"',
        "output": rb'[ {"a":1.0e2}, "\ud800" ]',
    }
    assert raw_items(fields["output"]) == [b'{"a":1.0e2}', rb'"\ud800"']


def test_bytes_that_are_no_text_are_kept() -> None:
    assert raw_items(b'["\xff\xc3\xa9"]') == [b'"\xff\xc3\xa9"']


@given(st.lists(VALUES))
def test_a_list_is_cut_into_its_items(values: list[Any]) -> None:
    written = json.dumps(values, indent=1).encode()
    assert [json.loads(item) for item in raw_items(written)] == values


@given(st.dictionaries(st.text(), VALUES))
def test_an_object_is_cut_into_its_fields(values: dict[str, Any]) -> None:
    fields = raw_fields(json.dumps(values).encode())
    assert {name: json.loads(value) for name, value in fields.items()} == values


@pytest.mark.parametrize("written", [b"", b"[1", b"[1 2]", b"{}", b"[1,]", b"7"])
def test_what_is_no_list_is_refused(written: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        raw_items(written)


@pytest.mark.parametrize("written", [b'{"a"}', b'{"a":1', b"{1:2}", b"[]"])
def test_what_is_no_object_is_refused(written: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        raw_fields(written)
