from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.media import Media, media_part
from mmeval.records.response import Response, Usage, answered
from mmeval.store.spending import CallTotals, ModelEndpoint
from mmeval.system.json_lines import from_line, to_line
from tests.support.engine import opened
from tests.support.openai_calls import MP4
from tests.support.toy import picture, reply

MODEL = ModelEndpoint("model", "m")
JUDGE = ModelEndpoint("judge", "j")
LOCAL = ModelEndpoint("model", "weights", local=True)


def answer(
    tokens_in: int, tokens_out: int, *pictures: int, batched: bool = False
) -> Response:
    made = reply("words" + "<image>" * len(pictures), *map(picture, pictures))
    return replace(made, usage=Usage(tokens_in, tokens_out, batched))


def test_every_try_is_counted_by_its_payee_and_a_later_session_goes_on_from_there(
    tmp_path: Path,
) -> None:
    spent = {
        MODEL: CallTotals(
            4,
            answered=2,
            input_tokens=30,
            output_tokens=10,
            images=2,
            batched_input_tokens=10,
            batched_output_tokens=5,
        ),
        JUDGE: CallTotals(calls=7, answered=1, input_tokens=7, output_tokens=3),
        LOCAL: CallTotals(calls=1, answered=1, input_tokens=4, output_tokens=4),
    }
    with opened(tmp_path) as journal:
        journal.append("a", "d", answer(10, 5, batched=True), to=MODEL)
        journal.append("b", "d", answer(20, 5, 1, 2), to=MODEL, attempt=2)
        # an answer that is refused is paid for, too
        refused = replace(Response.failed("bad_reply", "no verdict"), usage=Usage(7, 3))
        journal.append("c", "d", refused, to=JUDGE)
        journal.append("c", "d", Response.failed("server", "down"), to=JUDGE, attempt=5)
        journal.append("e", "d", answer(4, 4), to=LOCAL)
        assert dict(journal.spending) == spent
    with opened(tmp_path) as journal:
        assert dict(journal.spending) == spent
        journal.append("f", "d", answer(1, 1), to=MODEL)
        assert journal.spending.total.calls == 13


def test_a_video_is_counted_also_by_a_later_session(tmp_path: Path) -> None:
    made = answered([media_part(Media.from_bytes(MP4))])
    with opened(tmp_path) as journal:
        journal.append("a", "d", made, to=MODEL)
        assert journal.spending.total.videos == 1
    with opened(tmp_path) as journal:
        assert journal.spending.total.videos == 1


def test_an_answer_that_only_a_receipt_holds_is_counted_once_it_is_found(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as journal:
        head = {"k": "a", "d": "d", "to": list(MODEL), "a": 1}
        journal._own_segment._write_receipt(head, answer(10, 5, 1), [picture(1)])
    for _ in range(2):
        with opened(tmp_path) as journal:
            assert dict(journal.spending) == {MODEL: CallTotals(2, 1, 10, 5, 1)}


@pytest.mark.parametrize("usage", [[1], "many", {"in": 1}], ids=str)
def test_a_line_with_usage_that_is_none_is_damaged(
    usage: object, tmp_path: Path
) -> None:
    with opened(tmp_path) as journal:
        journal.append("a", "d", answer(10, 5), to=MODEL)
    [segment] = (tmp_path / "journal").glob("*.jsonl")
    row = from_line(segment.read_bytes())
    row["r"]["usage"] = usage
    segment.write_bytes(to_line(row) + b"\n")
    with opened(tmp_path) as journal:
        assert ("a" in journal, len(journal.damaged)) == (False, 1)
