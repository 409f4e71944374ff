import json
import logging
import re
from pathlib import Path

import pytest

from mmeval.backend.contract import TaskAhead
from mmeval.model_backends.replay import ReplayBackend
from mmeval.records import Request, Sample, user
from tests.support.tiny_media import picture

SAMPLES = [Sample(name, (user("?"),)) for name in "abc"]


def replay(folder: Path, *words: str | None, name: str = "") -> ReplayBackend:
    """A backend over a samples file with one answer, or none, to each of the
    samples."""
    rows = [
        {
            "doc": sample.to_json(),
            "parts": [] if text is None else [[{"type": "text", "text": text}]],
        }
        for sample, text in zip(SAMPLES, words, strict=False)
    ]
    file = folder / "samples_t_2026-01-31T12-00-00.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ReplayBackend(str(file), name=name)


def ahead(
    *samples: Sample, repeats: int = 1, protocol: str = "single"
) -> list[TaskAhead]:
    return [TaskAhead("t", protocol, repeats, lambda: iter(samples))]


def test_an_answer_costs_nothing_a_missing_one_is_an_error_and_the_name_is_no_identity(
    tmp_path: Path,
) -> None:
    backend = replay(tmp_path, "an oak", None)
    response, missing = (
        backend.answer("t", sample, 0, Request(sample.input)) for sample in SAMPLES[:2]
    )
    assert response.text == "an oak"
    assert response.usage.input_tokens == 0
    assert response.latency == 0.0
    assert missing.error is not None
    assert missing.error.kind == "no_answer"
    assert (
        replay(tmp_path, "an oak", name="x").identity
        == replay(tmp_path, "an oak").identity
    )
    assert replay(tmp_path, "an elm").identity != replay(tmp_path, "an oak").identity


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        (ahead(*SAMPLES[:2]), []),
        (ahead(*SAMPLES), [("1", "3")]),
        (ahead(SAMPLES[0], repeats=2), [("1", "2"), ("1", "2")]),
    ],
    ids=["all", "missing", "repeats"],
)
def test_answers_that_are_missing_or_left_over_are_warned_of_before_the_run(
    asked: list[TaskAhead],
    counts: list[tuple[str, str]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "mmeval"):
        replay(tmp_path, "an oak", "an elm").foresee(asked)
    assert [
        tuple(re.findall(r"\d+", message)[:2]) for message in caplog.messages
    ] == counts


def test_the_place_of_media_is_no_part_of_the_identity(tmp_path: Path) -> None:
    block = {"type": "image", "content": "/data/old/a.png"}
    (tmp_path / "outputs.jsonl").write_text(json.dumps({"id": "1", "output": [block]}))
    identities = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.png").write_bytes(picture())
        moved = f"/data/old={tmp_path / name}"
        backend = ReplayBackend(str(tmp_path), format="isg", media_root=moved)
        identities.append(backend.identity)
    lost = ReplayBackend(str(tmp_path), format="isg").identity
    assert identities[0] == identities[1] != lost
