from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved
from mmeval.records.request import GenerationParams, Request
from mmeval.records.response import ERROR_KINDS, ErrorInfo, Response, Usage
from mmeval.records.sample import Message, Sample, user
from mmeval.records.score import Result, Score, ScoreStatus
from mmeval.records.trial import Exchange, Trial
from tests.support import tiny_media as tiny
from tests.support.content_cases import answers

ROOT = Path("media")
PICTURE = tiny.picture()
ASKED = Request((user("What is this?", Media.from_bytes(PICTURE)),), GenerationParams(max_tokens=8), ("text",))
words = st.text(max_size=6)
numbers = st.floats(allow_nan=False, allow_infinity=False)
labelled = st.dictionaries(words, words | numbers | st.none() | st.lists(st.integers(), max_size=3), max_size=3)
messages = st.builds(Message, st.sampled_from(("system", "user", "assistant")), answers)
samples = st.builds(
    Sample, words, st.lists(messages, max_size=3).map(tuple), st.lists(answers, max_size=2).map(tuple), labelled, words
)
usages = st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6))
latencies = st.integers(0, 10**7).map(lambda tenths: tenths / 10_000)
sound_responses = st.builds(
    Response,
    output=answers,
    finish_reason=st.sampled_from(("stop", "length", "content_filter")),
    usage=usages,
    latency=latencies,
    served=words,
    fingerprint=words,
    warnings=st.lists(words, max_size=2).map(tuple),
)
failed_responses = st.builds(Response.failed, st.sampled_from(ERROR_KINDS), words, latency=latencies)
pairs = st.none() | st.tuples(numbers, numbers)
scores = st.builds(Score, st.none() | numbers, st.sampled_from(get_args(ScoreStatus)), words, labelled, pairs)
results = st.builds(
    Result,
    words,
    words,
    st.none() | numbers,
    st.integers(),
    st.integers(),
    ci95=pairs,
    bounds=pairs,
    slice=words,
    suspended=st.booleans(),
    weights=st.dictionaries(words, numbers, max_size=3),
)


def through_json(record: Any) -> dict[str, Any]:
    """A record's line as a newer version might have written it: with a field that we do not know."""
    row = json.loads(json.dumps(record.to_json()))
    return {**row, "from_the_future": {"a": 1}}


@given(messages)
def test_a_message_survives_json(record: Message) -> None:
    assert Message.from_json(through_json(record), ROOT) == record


@given(samples)
def test_a_sample_survives_json_with_its_digest(record: Sample) -> None:
    again = Sample.from_json(through_json(record), ROOT)
    assert again == record
    assert again.digest == record.digest


@given(sound_responses | failed_responses)
def test_a_response_survives_json(record: Response) -> None:
    assert Response.from_json(through_json(record), ROOT) == record


@given(scores)
def test_a_score_survives_json(record: Score) -> None:
    assert Score.from_json(through_json(record)) == record


@given(results)
def test_a_result_survives_json(record: Result) -> None:
    assert Result.from_json(through_json(record)) == record


def test_usage_of_a_newer_version_may_count_more() -> None:
    row = {"output": [], "usage": [1, 2, 3]}
    assert Response.from_json(row, ROOT).usage == Usage(1, 2)


def test_records_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ASKED.seed = 1  # type: ignore[misc]  # what is tested


@pytest.mark.parametrize(
    "changed",
    [
        Sample("b", (user("q"),), (Interleaved.from_text("a"),), {"k": 1}),
        Sample("a", (user("Q"),), (Interleaved.from_text("a"),), {"k": 1}),
        Sample("a", (user("q"),), (Interleaved.from_text("b"),), {"k": 1}),
        Sample("a", (user("q"),), (Interleaved.from_text("a"),), {"k": 2}),
        Sample("a", (user("q"), user("a")), (), {"k": 1}),
        Sample("a", (user("q"),), (Interleaved.from_text("a"),), {"k": 1}, "torn"),
    ],
    ids=["id", "input", "reference", "metadata", "reference among the input", "fault"],
)
def test_everything_in_a_sample_counts_in_its_digest(changed: Sample) -> None:
    assert changed.digest != Sample("a", (user("q"),), (Interleaved.from_text("a"),), {"k": 1}).digest


def exchange(text: str = "x", *media: Media, asked: str = ASKED.digest) -> Exchange:
    return Exchange("0", "model", asked, Response(output=Interleaved.from_reply(text, media)))


def made(*exchanges: Exchange, repeat: int = 0, of: str = "q", output: str = "out") -> Trial:
    return Trial(Sample("a", (user(of),)), repeat, exchanges, Interleaved.from_text(output))


@pytest.mark.parametrize(
    "changed",
    [
        made(exchange(), of="Q"),
        made(exchange(), repeat=1),
        made(),
        made(exchange(asked="other")),
        made(exchange("y")),
        made(exchange("x", Media.from_bytes(PICTURE))),
        made(exchange(), exchange()),
        made(exchange(), output="Out"),
        Trial(made().sample, 0, (exchange(),), error=ErrorInfo("timeout", "late")),
    ],
    ids=["sample", "repeat", "no call", "request", "answer", "medium", "another call", "output", "error"],
)
def test_everything_that_a_score_depends_on_counts_in_the_digest_of_a_trial(changed: Trial) -> None:
    assert changed.digest != made(exchange()).digest


def test_a_call_that_failed_is_another_trial_than_one_that_was_answered() -> None:
    failed = Exchange("0", "model", ASKED.digest, Response.failed("timeout", "late"))
    assert made(failed).digest != made(exchange("")).digest


def test_a_trial_keeps_its_digest_when_it_is_read_again() -> None:
    trial = made(exchange("see <image1>", Media.from_bytes(PICTURE)))
    (call,) = trial.exchanges
    read = dataclasses.replace(call, response=Response.from_json(through_json(call.response), ROOT))
    assert dataclasses.replace(trial, exchanges=(read,)).digest == trial.digest


def test_neither_unscored_nor_unavailable_is_zero() -> None:
    assert Score.unscored("lost", call="0").to_json() == {
        "value": None,
        "status": "unscored",
        "reason": "lost",
        "evidence": {"call": "0"},
    }
    assert Score.unavailable("no judge").value is None


def test_a_failed_response_has_no_text() -> None:
    failed = Response.failed("timeout", "60 s", retry_after=1.0)
    assert (failed.text, failed.output, failed.error and failed.error.kind) == ("", None, "timeout")
