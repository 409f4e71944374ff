from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.system.yaml_document import MAX_FILE_BYTES, parse_document, read_document

FILE = Path("t.yaml")


def test_a_value_is_what_it_looks_like() -> None:
    values: dict[str, object] = {
        "1e5": 100_000.0,
        "1.5e-3": 0.0015,
        "-3": -3,
        "0x1F": 31,
        "true": True,
        "~": None,
        "'no'": "no",
        "'010'": "010",
        "2024-01-01": "2024-01-01",
        "[a, {b: 1}]": ["a", {"b": 1}],
    }
    assert {
        text: parse_document(f"key: {text}", FILE).data["key"] for text in values
    } == values


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("a: 1\nb: no", 2, "false"),
        ("on: 1", 1, "true"),
        ("a: 010", 1, "010"),
        ("a: 1:30", 1, "1:30"),
        ("a: .nan", 1, ".nan"),
        ("a: 1e999", 1, "1e999"),
        ("a: 1\n\nb:\n  c: 1\n  c: 2", 5, "'c'"),
        ("a: !function x.y", 1, "!function"),
        ("a: !!python/name:os.system", 1, "python"),
        ("7: x", 1, "7"),
        ("- a", 1, "keys"),
        ("a: [\n", 2, "valid"),
        ("a: &a [*a]", 1, "nested"),
        ("a: " + "[" * 100_000, 1, "nested"),
        ("? " * 50_000, 1, "nested"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_not_plain_is_refused_with_its_line(
    text: str, line: int, word: str
) -> None:
    with pytest.raises(TaskFileError) as caught:
        parse_document(text, FILE)
    assert (caught.value.file, caught.value.line, word in caught.value.message) == (
        FILE,
        line,
        True,
    )


def test_aliases_cannot_unfold_a_small_file_into_a_huge_one() -> None:
    levels = [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 8)]
    with pytest.raises(TaskFileError, match="50000 values"):
        parse_document("\n".join(["l0: &l0 [x]", *levels]), FILE)


def test_every_key_knows_its_place_also_after_merging_and_laying_over() -> None:
    document = parse_document("base: &b {x: 1, y: 2}\nown:\n  y: 3\n  <<: *b", FILE)
    assert (document.data["own"], document.place(("own", "y")).line) == (
        {"x": 1, "y": 3},
        3,
    )
    document = parse_document("a: 1.10\nb:\n  - c: x\n  -\n    d: y", FILE)
    assert document.place(("a",)).written == "1.10"
    places = (("b",), ("b", 0, "c"), ("b", 1, "d"), ("b", 1, "gone"))
    assert [document.place(path).line for path in places] == [2, 3, 5, 5]
    base = parse_document("x: 1\ny: {z: 2}", Path("base.yaml"))
    document = parse_document("# own\ny: {w: 3}", Path("own.yaml")).over(base)
    assert document.data == {"x": 1, "y": {"w": 3}}
    assert (document.place(("x",)).file.name, document.place(("y",)).line) == (
        "base.yaml",
        2,
    )
    assert ("y", "z") not in document.places


@pytest.mark.parametrize(
    ("content", "line", "word"),
    [
        (b"a: 1\nb: \xff", 2, "UTF-8"),
        (b"#" * (MAX_FILE_BYTES + 1), 0, "larger"),
        (b"a: \x00", 0, "valid"),
        (None, 0, "read"),
    ],
    ids=["encoding", "size", "control character", "missing"],
)
def test_a_file_that_is_no_sane_text_is_refused(
    tmp_path: Path, content: bytes | None, line: int, word: str
) -> None:
    file = tmp_path / "bad.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(TaskFileError) as caught:
        read_document(file)
    assert (caught.value.file, caught.value.line, word in caught.value.message) == (
        file,
        line,
        True,
    )


def test_a_byte_order_mark_and_an_empty_file_do_no_harm(tmp_path: Path) -> None:
    for name, content, data in (
        ("mark.yaml", b"\xef\xbb\xbfa: 1", {"a": 1}),
        ("empty.yaml", b"# nothing\n", {}),
        ("largest.yaml", b"a: 1\n".ljust(MAX_FILE_BYTES, b"#"), {"a": 1}),
    ):
        (tmp_path / name).write_bytes(content)
        assert read_document(tmp_path / name).data == data
