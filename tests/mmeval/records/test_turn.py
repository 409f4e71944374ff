from dataclasses import replace
from pathlib import Path

from mmeval.media.media import Media
from mmeval.media.parts import Interleaved
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Message, message
from mmeval.records.turn import Turn
from mmeval.store.media_store import MediaStore
from tests.support.engine import opened
from tests.support.toy import reply

ITEMS = b'[{"type":"reasoning","encrypted_content":"\\u00e9=="},  {"id":7}]'
TURN = Turn("responses", Media.from_bytes(ITEMS))
ANSWER = replace(reply("yes"), turn=TURN)


def test_a_journal_keeps_what_the_server_wants_back_byte_for_byte(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as journal:
        journal.append("k", "digest", ANSWER)
    with opened(tmp_path) as journal:
        entry = journal.get("k")
    assert entry is not None and entry.response.turn is not None
    assert entry.response.turn.wire == "responses"
    assert entry.response.turn.items.read() == ITEMS


def test_the_items_lie_in_the_store_and_not_in_the_journals_line(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as journal:
        journal.append("k", "digest", ANSWER)
    (segment,) = (tmp_path / "journal").glob("*.jsonl")
    assert b"encrypted_content" not in segment.read_bytes()
    assert str(tmp_path).encode() not in segment.read_bytes()


def test_answers_and_requests_are_not_compared_by_it() -> None:
    plain = replace(ANSWER, turn=None)
    assert plain == ANSWER
    with_items = Message("assistant", Interleaved.from_text("yes"), TURN)
    without = message("assistant", "yes")
    assert Request((with_items,)).digest == Request((without,)).digest


def test_other_places_of_media_hold_the_items_too(tmp_path: Path) -> None:
    stored = ANSWER.with_media(MediaStore(tmp_path).put)
    read = Response.from_json(stored.to_json(), tmp_path)
    assert read.turn is not None
    assert read.turn.items.read() == ITEMS
