import dataclasses
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from mmeval.media.media import Media
from mmeval.media.parts import Interleaved
from mmeval.records.response import ERROR_KINDS, ErrorInfo, Response, Usage
from mmeval.records.sample import Message, Sample, user
from mmeval.records.score import Result, Score, ScoreStatus
from mmeval.records.trial import Exchange, Trial
from tests.support import tiny_media as tiny

ROOT = Path("media")
PICTURE = Media.from_bytes(tiny.picture())
SEEN = Interleaved.from_reply("see <image1>", [PICTURE])
RECORDS = (
    Message("assistant", Interleaved.from_text("an answer")),
    Sample(
        "a",
        (user("q", PICTURE),),
        (Interleaved.from_text("a"),),
        {"k": [1, None]},
        "torn",
        (SEEN,),
    ),
    Response(
        SEEN,
        None,
        "length",
        Usage(7, 3),
        latency=0.25,
        served="m-2",
        warnings=("cut",),
        fingerprint="fp",
    ),
    *(Response.failed(kind, "no", latency=1.5) for kind in ERROR_KINDS),
    *(
        Score(0.5, status, "why", {"seen": 3}, (0.0, 1.0))
        for status in get_args(ScoreStatus)
    ),
    Score(0.5, weight=7),
    Result(
        "t",
        "m",
        None,
        3,
        2,
        ci95=(0.0, 1.0),
        bounds=(0.25, 0.5),
        bounds_ci95=(0.0, 1.0),
        no_interval="one cluster",
        effective_clusters=1.5,
        slice="s",
        suspended=True,
        weights={"a": 0.5},
    ),
    Result("t", "m", 0.5, 3, 3),
)


@pytest.mark.parametrize("record", RECORDS, ids=str)
def test_a_record_survives_json_with_a_field_of_a_newer_version(record: Any) -> None:
    row = json.loads(json.dumps({**record.to_json(), "from_the_future": {"a": 1}}))
    root = () if isinstance(record, (Score, Result)) else (ROOT,)
    restored = type(record).from_json(row, *root)
    assert restored == record
    assert not isinstance(record, Sample) or restored.digest == record.digest


SAMPLE = Sample("a", (user("q"),), (Interleaved.from_text("a"),), {"k": 1})
SAMPLES: dict[str, dict[str, Any]] = {
    "id": {"id": "b"},
    "input": {"input": (user("Q"),)},
    "references": {"references": (Interleaved.from_text("b"),)},
    "metadata": {"metadata": {"k": 2}},
    "reference among the input": {"input": (user("q"), user("a")), "references": ()},
    "fault": {"fault": "torn"},
    "candidates": {"candidates": (Interleaved.from_text("a"),)},
}


def test_everything_in_a_sample_counts_in_its_digest() -> None:
    changed = [dataclasses.replace(SAMPLE, **change) for change in SAMPLES.values()]
    assert len({sample.digest for sample in (SAMPLE, *changed)}) == 1 + len(SAMPLES)


def exchange(text: str = "x", *media: Media, asked: str = "asked") -> Exchange:
    return Exchange(
        "0", "model", asked, Response(output=Interleaved.from_reply(text, media))
    )


def made(
    *exchanges: Exchange, repeat: int = 0, of: str = "q", output: str = "out"
) -> Trial:
    return Trial(
        Sample("a", (user(of),)), repeat, exchanges, Interleaved.from_text(output)
    )


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
