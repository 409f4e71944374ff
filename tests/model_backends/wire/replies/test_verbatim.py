"""Items of a list as they are written."""

import pytest

from mmeval.model_backends.wire.replies.verbatim import (
    verbatim_items,
    verbatim_value,
)


def test_items_are_cut_out_byte_for_byte() -> None:
    body = b'{"a" : [1, {"b":[ "\\u003d" ,  {"x":"\xc3\xa9]"} , -1.50e3]}]}'
    items = verbatim_items(body, ("a", 1, "b"))
    assert items == [b'"\\u003d"', b'{"x":"\xc3\xa9]"}', b"-1.50e3"]


def test_a_value_keeps_its_spelling() -> None:
    body = rb'{ "id" : "r\u00e9\/1" , "output": [ {"a":1.0e2} ] }'
    assert verbatim_value(body, ("id",)) == rb'"r\u00e9\/1"'
    assert verbatim_value(body, ("output",)) == b'[ {"a":1.0e2} ]'
    assert verbatim_value(body, ("none",)) is None


def test_bytes_that_are_no_text_are_kept() -> None:
    assert verbatim_items(b'["\xff\xc3\xa9"]', ()) == [b'"\xff\xc3\xa9"']


def test_of_a_name_that_is_written_twice_the_last_counts() -> None:
    assert verbatim_items('{"a": [1], "a": [2, 3]}', ("a",)) == [b"2", b"3"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b'{"a": [1,', b'{"a": {}}', b'{"b": []}', b"[]", b"\xff", b"[" * 9999],
)
def test_what_holds_no_such_list_has_no_items(body: bytes) -> None:
    assert verbatim_items(body, ("a",)) == []


def test_a_list_that_ends_early_has_no_such_item() -> None:
    assert verbatim_items(b'{"a": []}', ("a", 0)) == []
