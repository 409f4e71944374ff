from pathlib import Path
from typing import Any

import pytest

from mmeval.media.parts import Interleaved
from mmeval.records.response import FinishReason, Response, worst_finish


def read_back(row: dict[str, Any]) -> Response:
    return Response.from_json(row, Path("media"))


def test_a_refused_answer_without_parts_survives_the_journal() -> None:
    refused = Response(Interleaved(()), finish_reason="refused")
    assert read_back(refused.to_json()) == refused


def test_what_a_filter_stopped_in_an_older_journal_is_refused() -> None:
    assert read_back({"output": [], "finish_reason": "content_filter"}).is_refused


def test_an_unknown_reason_is_a_plain_end() -> None:
    row = {"output": [], "finish_reason": "tired"}
    assert read_back(row).finish_reason == "stop"


@pytest.mark.parametrize(
    ("reasons", "worst"),
    [
        ((), "stop"),
        (("stop", "error"), "stop"),
        (("stop", "length"), "length"),
        (("length", "refused", "stop"), "refused"),
    ],
)
def test_of_several_replies_the_worst_end_counts(
    reasons: tuple[FinishReason, ...], worst: str
) -> None:
    assert worst_finish(reasons) == worst
