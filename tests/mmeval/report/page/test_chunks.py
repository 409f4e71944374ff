import json
import math
from pathlib import Path

import pytest

from mmeval.report.page.chunks import Chunks, script
from tests.support.readers import called

ENDINGS = [
    "</script><script>alert(1)</script>",
    "<!--",
    "]]>",
    "&lt;",
    "\u2028x\u2029",
    "\x00",
    "\ufeff",
    '"});alert(1)//',
    'x"__proto__',
    'x\\"__proto__',
    '{"__proto__":1',
    ',"__proto__":1',
    '"__proto__":',
]


def value_of(written: bytes) -> object:
    return json.loads(written.removeprefix(b"mmeval.index(").removesuffix(b");\n"))


@pytest.mark.parametrize("text", ENDINGS)
def test_no_text_can_end_the_script_or_name_a_prototype(text: str) -> None:
    written = script("index", {"key " + text: [text], text: text})
    assert not any(
        mark in written
        for mark in (b"<", b">", b"&", b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\x00")
    )
    assert value_of(written) == {"key " + text: [text], text: text}


def test_what_json_has_no_place_for_is_null_and_a_prototype_is_a_key_as_any_other() -> (
    None
):
    assert value_of(script("index", ["\ud800 <", math.nan, math.inf, 1.5])) == [
        "\ud800 <",
        None,
        None,
        1.5,
    ]
    assert (
        script("index", {"__proto__": {"a": 1}})
        == b'mmeval.index({["__proto__"]:{"a":1}});\n'
    )
    deep: object = "the end"
    for _ in range(5_000):
        deep = [deep]
    written = script("index", {"deep": deep})
    assert b"\xe2\x80\xa6" in written or b"\\u2026" in written


def test_items_are_put_into_numbered_files(tmp_path: Path) -> None:
    chunks = Chunks(tmp_path, "text", 2)
    for item in ("a", "b", {"__proto__": ENDINGS}):
        chunks.add(item)
    chunks.flush()
    chunks.flush()
    assert [file.name for file in sorted(tmp_path.iterdir())] == [
        "text-0000.js",
        "text-0001.js",
    ]
    assert called(tmp_path / "text-0000.js", "text") == [0, ["a", "b"]]
    assert [chunks.item(number) for number in range(3)] == [
        "a",
        "b",
        {"__proto__": ENDINGS},
    ]
