from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from mmeval.backend.contract import SampleBackend, TaskAhead, WholeAnswers
from mmeval.backend.create import create_backend
from mmeval.content.parts import PART_KINDS
from mmeval.errors import MissingDataError, UsageError
from mmeval.model_backends.replay import ReplayBackend
from mmeval.records.request import Request
from mmeval.records.sample import Sample, user

SAMPLES = [Sample(name, (user("?"),)) for name in "abc"]


def replay(folder: Path, *words: str | None, name: str = "") -> ReplayBackend:
    """A backend over a samples file with one answer, or none, to each of the samples."""
    rows = [
        {"doc": sample.to_json(), "parts": [] if said is None else [[{"type": "text", "text": said}]]}
        for sample, said in zip(SAMPLES, words, strict=False)
    ]
    file = folder / "samples_t_2026-01-31T12-00-00.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ReplayBackend(str(file), name=name)


def ahead(*samples: Sample, repeats: int = 1, protocol: str = "single") -> list[TaskAhead]:
    return [TaskAhead("t", protocol, repeats, lambda: iter(samples))]


def test_it_is_a_sample_backend_with_whole_answers_that_its_name_creates(tmp_path: Path) -> None:
    replay(tmp_path, "an oak")
    backend = create_backend("replay", {"path": str(tmp_path)})
    assert isinstance(backend, SampleBackend)
    assert isinstance(backend, WholeAnswers)
    assert backend.capabilities.missing(Request((user("?"),), wants=PART_KINDS)) == []


def test_an_answer_costs_nothing(tmp_path: Path) -> None:
    response = replay(tmp_path, "an oak").answer("t", SAMPLES[0], 0, Request(SAMPLES[0].input))
    assert (response.text, response.usage.input_tokens, response.latency) == ("an oak", 0, 0.0)


def test_no_answer_is_an_error_of_its_own_kind(tmp_path: Path) -> None:
    error = replay(tmp_path, "an oak", None).answer("t", SAMPLES[1], 0, Request(SAMPLES[1].input)).error
    assert error is not None
    assert error.kind == "no_answer"


def test_its_name_is_no_part_of_who_answers(tmp_path: Path) -> None:
    assert replay(tmp_path, "an oak", name="x").identity == replay(tmp_path, "an oak").identity
    assert replay(tmp_path, "an elm").identity != replay(tmp_path, "an oak").identity


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (ahead(*SAMPLES[:2]), []),
        (ahead(*SAMPLES), ["t: 1 of 3 answers are not there; the first: "]),
        (ahead(SAMPLES[0], repeats=2), ["t: 1 of 2 answers are not", "t: 1 of 2 answers there are not asked for"]),
    ],
    ids=["all", "missing", "repeats"],
)
def test_what_is_missing_or_left_over_is_said_before_the_run(
    asked: list[TaskAhead], said: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "mmeval"):
        replay(tmp_path, "an oak", "an elm").foresee(asked)
    assert len(caplog.messages) == len(said)
    assert all(message.startswith(begin) for message, begin in zip(caplog.messages, said, strict=True))


def test_an_answer_that_cannot_be_read_is_missing_and_not_left_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    part = {"type": "image", "media": {"sha256": "0" * 64, "mime": "image/png"}}
    file = tmp_path / "samples_t_2026-01-31T12-00-00.jsonl"
    file.write_text(json.dumps({"doc": SAMPLES[0].to_json(), "parts": [[part]]}) + "\n")
    with caplog.at_level(logging.WARNING, "mmeval"):
        ReplayBackend(str(file)).foresee(ahead(SAMPLES[0]))
    assert [message.partition(";")[0] for message in caplog.messages] == ["t: 1 of 1 answer are not there"]


def test_that_nothing_is_asked_or_spent_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mmeval"):
        replay(tmp_path, "an oak").foresee(ahead(SAMPLES[0], protocol="episode"))
    assert caplog.messages[0] == "t: answers are replayed whole; its protocol episode is not followed"
    assert caplog.messages[1].endswith("1 of 1 are there; no model is asked, and nothing is spent")


def test_what_cannot_be_read_is_told_when_it_is_made(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="nothing is there; name the folder of the answers with path="):
        ReplayBackend(str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="path"):
        create_backend("replay", {})
