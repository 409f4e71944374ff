import dataclasses
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved
from mmeval.records.response import ERROR_KINDS, ErrorInfo, Response, Usage
from mmeval.records.sample import Message, Sample, user
from mmeval.records.score import Result, Score, ScoreStatus
from mmeval.records.trial import Exchange, Trial
from tests.support import tiny_media as tiny
from tests.support.content_cases import answers

ROOT = Path("media")
PICTURE = Media.from_bytes(tiny.picture())
words = st.text(max_size=6)
numbers = st.floats(allow_nan=False, allow_infinity=False)
labelled = st.dictionaries(words, words | numbers | st.none() | st.lists(st.integers(), max_size=3), max_size=3)
messages = st.builds(Message, st.sampled_from(("system", "user", "assistant")), answers)
samples = st.builds(
    Sample, words, st.lists(messages, max_size=3).map(tuple), st.lists(answers, max_size=2).map(tuple), labelled, words
)
latencies = st.integers(0, 10**7).map(lambda tenths: tenths / 10_000)
sound_responses = st.builds(
    Response,
    output=answers,
    finish_reason=st.sampled_from(("stop", "length", "content_filter")),
    usage=st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6)),
    latency=latencies,
    served=words,
    fingerprint=words,
    warnings=st.lists(words, max_size=2).map(tuple),
)
failed_responses = st.builds(Response.failed, st.sampled_from(ERROR_KINDS), words, latency=latencies)
pairs = st.none() | st.tuples(numbers, numbers)
scores = st.builds(Score, st.none() | numbers, st.sampled_from(get_args(ScoreStatus)), words, labelled, pairs)
weights = st.dictionaries(words, numbers, max_size=3)
maybe, count = st.none() | numbers, st.integers()
results = st.builds(
    Result, words, words, maybe, count, count, ci95=pairs, bounds=pairs, slice=words, suspended=st.booleans(),
    weights=weights,
)  # fmt: skip


@settings(max_examples=30)
@given(messages | samples | sound_responses | failed_responses | scores | results)
def test_a_record_survives_json_with_a_field_of_a_newer_version(record: Any) -> None:
    row = json.loads(json.dumps({**record.to_json(), "from_the_future": {"a": 1}}))
    root = () if isinstance(record, (Score, Result)) else (ROOT,)
    again = type(record).from_json(row, *root)
    assert again == record
    assert not isinstance(record, Sample) or again.digest == record.digest


SAMPLE = Sample("a", (user("q"),), (Interleaved.from_text("a"),), {"k": 1})
SAMPLES: dict[str, dict[str, Any]] = {
    "id": {"id": "b"},
    "input": {"input": (user("Q"),)},
    "references": {"references": (Interleaved.from_text("b"),)},
    "metadata": {"metadata": {"k": 2}},
    "reference among the input": {"input": (user("q"), user("a")), "references": ()},
    "fault": {"fault": "torn"},
}


@pytest.mark.parametrize("change", SAMPLES)
def test_everything_in_a_sample_counts_in_its_digest(change: str) -> None:
    assert dataclasses.replace(SAMPLE, **SAMPLES[change]).digest != SAMPLE.digest


def exchange(text: str = "x", *media: Media, asked: str = "asked") -> Exchange:
    return Exchange("0", "model", asked, Response(output=Interleaved.from_reply(text, media)))


def made(*exchanges: Exchange, repeat: int = 0, of: str = "q", output: str = "out") -> Trial:
    return Trial(Sample("a", (user(of),)), repeat, exchanges, Interleaved.from_text(output))


FAILED = Exchange("0", "model", "asked", Response.failed("timeout", "late"))
TRIALS = {
    "sample": made(exchange(), of="Q"),
    "repeat": made(exchange(), repeat=1),
    "no call": made(),
    "request": made(exchange(asked="other")),
    "answer": made(exchange("y")),
    "no answer": made(exchange("")),
    "failed call": made(FAILED),
    "medium": made(exchange("x", PICTURE)),
    "another call": made(exchange(), exchange()),
    "output": made(exchange(), output="Out"),
    "error": Trial(made().sample, 0, (exchange(),), error=ErrorInfo("timeout", "late")),
    "trial": made(exchange()),
}


def test_everything_that_a_score_depends_on_counts_in_the_digest_of_a_trial() -> None:
    assert len({trial.digest for trial in TRIALS.values()}) == len(TRIALS)
