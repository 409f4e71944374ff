import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.media import Media
from mmeval.model_backends.process import messages
from mmeval.model_backends.process.folders import SharedFolder
from mmeval.model_backends.process.messages import (
    MAX_BATCH,
    WorkerAnswers,
    failure,
    read_hello,
    read_line,
)

HELLO: dict[str, Any] = {
    "type": "hello",
    "protocol": 1,
    "name": "m",
    "takes": ["text"],
    "gives": ["text"],
    "mode": "single",
}


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[WorkerAnswers]:
    out = SharedFolder(tmp_path / "out")
    yield WorkerAnswers(["text", "image"], out)
    out.close()


def fault(reader: WorkerAnswers, parts: object) -> str:
    response = reader.response({"parts": parts})
    assert response.error is not None
    assert response.error.kind == "internal"
    return response.error.message


@pytest.mark.parametrize(
    ("stated", "rows"), [(1, 1), (MAX_BATCH, MAX_BATCH), (10**30, MAX_BATCH)]
)
def test_a_batch_has_at_most_so_many_rows_whatever_a_worker_states(
    stated: int, rows: int
) -> None:
    assert read_hello({**HELLO, "batch": stated}).batch == rows


@pytest.mark.parametrize(
    "stated",
    [
        {"name": "m" * 201},
        {"batch": 0},
        {"batch": 2.0},
        {"batch": True},
        {"mode": ["single"]},
        {"takes": [["text"]]},
        {"options": ["image.size"] * 10_000},
        {"identity": {"steps": 10**30}},
        {"identity": {"scale": float("inf")}},
        {"identity": {"layers": ["layer"] * 10_000}},
    ],
    ids=lambda stated: next(iter(stated)),
)
def test_what_a_worker_states_of_itself_has_bounds(stated: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"hello message: \w+=.* is invalid"):
        read_hello({**HELLO, **stated})


def test_an_identity_that_is_nested_too_deep_cannot_be_used() -> None:
    nested: dict[str, Any] = {}
    for _ in range(5000):
        nested = {"inner": nested}
    with pytest.raises(UsageError, match="identity"):
        read_hello({**HELLO, "identity": nested})


@pytest.mark.parametrize("kind", [["text"], {"a": 1}, None, 5, "audio"])
def test_a_kind_that_the_worker_does_not_give_has_a_sentence(
    kind: object, reader: WorkerAnswers
) -> None:
    assert "which the worker did not declare" in fault(reader, [{"kind": kind}])


@pytest.mark.parametrize("part", ["text", 5, None, ["text"]])
def test_a_part_that_is_not_an_object_has_a_sentence(
    part: object, reader: WorkerAnswers
) -> None:
    assert "is not a part" in fault(reader, [part])


def test_an_answer_has_at_most_so_many_parts(
    reader: WorkerAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "MAX_PARTS", 2)
    part = {"kind": "text", "text": "a"}
    assert reader.response({"parts": [part] * 2}).error is None
    assert "more than 2 parts" in fault(reader, [part] * 3)


def test_the_placeholders_of_a_text_are_parts_too(
    reader: WorkerAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "MAX_PARTS", 10)
    text = "<image1>" * 11
    assert "more than 10 parts" in fault(reader, [{"kind": "text", "text": text}])


def test_the_media_of_an_answer_are_bounded_together(
    reader: WorkerAnswers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "MAX_ANSWER_BYTES", 20)
    data = b"GIF89a\x01\0\x01\0\0\0\0;"
    parts = []
    for number in range(2):
        (tmp_path / "out" / f"{number}.gif").write_bytes(data)
        sha256 = Media.from_bytes(data).sha256
        parts.append({"kind": "image", "path": f"{number}.gif", "sha256": sha256})
    assert "are larger than" in fault(reader, parts)


@pytest.mark.parametrize("tokens", [[10**30, -1], ["3", None], [[3]], 3, [1.5, True]])
def test_counts_that_cannot_be_used_are_not_reported(
    tokens: object, reader: WorkerAnswers
) -> None:
    response = reader.response({"parts": [], "tokens": tokens})
    assert response.usage.input_tokens == 0
    assert response.usage.output_tokens == 0


def test_the_reason_of_a_failure_is_short() -> None:
    kind, said = failure({"error": ["internal"], "message": "x" * 10**6})
    assert kind == "internal"
    assert len(said) < 2100


def test_a_key_that_a_worker_repeats_is_hidden_however_it_is_spelt() -> None:
    line = rb'{"type": "log", "text": "my key is sk\u002d12345678"}'
    message = read_line(line, hidden=["sk-12345678"])
    assert message["text"] == "my key is ***"


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("my key is sk-12345678", ("a key was replaced in this answer",)),
        ("*** is a line", ()),
    ],
)
def test_an_answer_warns_of_a_key_that_was_replaced_in_it(
    text: str, warnings: tuple[str, ...], reader: WorkerAnswers
) -> None:
    answer = {"type": "answer", "parts": [{"kind": "text", "text": text}]}
    message = read_line(json.dumps(answer).encode(), hidden=["sk-12345678"])
    assert reader.response(message).warnings == warnings


def test_a_line_is_read_as_it_is_where_nothing_is_hidden() -> None:
    message = {"type": "log", "text": "a", "more": [1, {"b": None}]}
    assert read_line(json.dumps(message).encode()) == message
