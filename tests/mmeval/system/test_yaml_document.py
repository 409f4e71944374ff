from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.system.yaml_document import MAX_FILE_BYTES, parse_document, read_document

FILE = Path("t.yaml")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e5", 100_000.0),
        ("1.5e-3", 0.0015),
        ("-3", -3),
        ("0x1F", 31),
        ("true", True),
        ("~", None),
        ("'no'", "no"),
        ("'010'", "010"),
        ("2024-01-01", "2024-01-01"),
        ("[a, {b: 1}]", ["a", {"b": 1}]),
    ],
)
def test_a_value_is_what_it_looks_like(written: str, value: object) -> None:
    assert parse_document(f"key: {written}", FILE).data == {"key": value}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: 1\nb: no", 't.yaml:2: no means false in YAML; write false, or "no" for the word'),
        ("on: 1", "t.yaml:1: on means true"),
        ("a: 010", "t.yaml:1: 010 is no plain whole number"),
        ("a: 1:30", "t.yaml:1: 1:30 is no plain whole number"),
        ("a: .nan", "t.yaml:1: .nan is no plain finite number"),
        ("a: 1e999", "t.yaml:1: 1e999 is no plain finite number"),
        ("a: 1\n\nb:\n  c: 1\n  c: 2", "t.yaml:5: the key 'c' stands here a second time (first in line 4)"),
        ("a: !function x.y", "t.yaml:1: !function is not supported: a task file runs no code. Register"),
        ("a: !!python/name:os.system", "t.yaml:1: the YAML tag python/name:os.system is not supported"),
        ("7: x", "t.yaml:1: 7 cannot be a key"),
        ("- a", "t.yaml:1: must hold keys with values"),
        ("a: [\n", "t.yaml:2: not valid YAML"),
        ("a: b: c", "t.yaml:1: not valid YAML"),
        ("a: &a [*a]", "t.yaml:1: is nested more than 50 deep"),
        ("a: " + "[" * 100_000, "t.yaml:1: is nested too deeply"),
        ("? " * 50_000, "t.yaml:1: is nested too deeply"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_not_plain_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        parse_document(text, FILE)
    assert str(caught.value).startswith(complaint)


def test_aliases_cannot_unfold_a_small_file_into_a_huge_one() -> None:
    levels = [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 8)]
    with pytest.raises(TaskFileError, match="holds more than 50000 values"):
        parse_document("\n".join(["l0: &l0 [x]", *levels]), FILE)


def test_a_merge_key_gives_what_the_mapping_does_not_say_itself() -> None:
    document = parse_document("base: &b {x: 1, y: 2}\nown:\n  y: 3\n  <<: *b", FILE)
    assert document.data["own"] == {"x": 1, "y": 3}
    assert document.place(("own", "y")).line == 3


def test_every_key_and_item_knows_its_line_and_spelling() -> None:
    document = parse_document("a: 1.10\nb:\n  - c: x\n  -\n    d: y", FILE)
    assert document.place(("a",)).written == "1.10"
    assert [document.place(path).line for path in (("b",), ("b", 0, "c"), ("b", 1, "d"), ("b", 1, "gone"))] == [
        2,
        3,
        5,
        5,
    ]


def test_a_document_laid_over_another_keeps_each_keys_own_place() -> None:
    base = parse_document("x: 1\ny: {z: 2}", Path("base.yaml"))
    document = parse_document("# own\ny: {w: 3}", Path("own.yaml")).over(base)
    assert document.data == {"x": 1, "y": {"w": 3}}
    assert (document.place(("x",)).file.name, document.place(("y",)).line) == ("base.yaml", 2)
    assert ("y", "z") not in document.places


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"a: 1\nb: \xff", r"bad.yaml:2: is not UTF-8"),
        (b"#" * (MAX_FILE_BYTES + 1), r"bad.yaml: is larger than"),
        (b"a: \x00", r"bad.yaml: not valid YAML"),
    ],
    ids=["encoding", "size", "control character"],
)
def test_a_file_that_is_no_text_of_sane_size_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "bad.yaml").write_bytes(content)
    with pytest.raises(TaskFileError, match=complaint):
        read_document(tmp_path / "bad.yaml")


def test_a_missing_file_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match=r"gone.yaml: cannot be read"):
        read_document(tmp_path / "gone.yaml")


def test_a_byte_order_mark_and_an_empty_file_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_bytes(b"\xef\xbb\xbfa: 1")
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    assert read_document(tmp_path / "t.yaml").data == {"a": 1}
    assert read_document(tmp_path / "empty.yaml").data == {}
