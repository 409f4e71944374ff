import base64
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mmeval.media import media_part
from mmeval.model_backends.openai.messages import encode_messages
from mmeval.model_backends.wire.media_cache import MediaCache
from mmeval.records import Message, message
from tests.support.cli import DEADLINE
from tests.support.toy import picture


def test_threads_that_want_the_same_wait_for_the_first_which_encodes_it() -> None:
    recent = MediaCache()
    calls = list[int]()
    started = threading.Event()
    go = threading.Event()

    def encode() -> bytes:
        calls.append(1)
        started.set()
        assert go.wait(DEADLINE)
        return b"encoded"

    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(recent.get, "a", encode)
        assert started.wait(DEADLINE)
        others = [threads.submit(recent.get, "a", encode) for _ in range(3)]
        go.set()
        assert [one.result(DEADLINE) for one in (first, *others)] == [b"encoded"] * 4
    assert len(calls) == 1


def test_the_oldest_go_where_more_is_held_than_may_be_and_a_failure_is_not_kept() -> (
    None
):
    recent, made = MediaCache(max_bytes=10), list[str]()

    def get(key: str, size: int = 4) -> int:
        return len(recent.get(key, lambda: made.append(key) or b"x" * size))  # type: ignore[func-returns-value]  # both in one

    for key in ("a", "b", "a", "c", "a", "b"):
        get(key)
    assert made == ["a", "b", "c", "b"]
    assert get("large", 50) == 50
    assert get("large", 50) == 50
    assert made[4:] == ["large", "large"]
    with pytest.raises(ZeroDivisionError):
        recent.get("d", lambda: b"%d" % (1 // 0))
    assert get("d") == 4


def test_the_picture_of_an_answer_is_encoded_once_for_all_questions_about_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = [media_part(picture(700 + number)) for number in range(3)]
    encoded = list[int]()
    encode = base64.b64encode
    # both in one
    monkeypatch.setattr(
        base64,
        "b64encode",
        lambda data: encoded.append(1) or encode(data),  # type: ignore[func-returns-value]
    )
    questions: list[Message] = [
        message("user", f"criterion {number}", *shown) for number in range(10)
    ]
    with ThreadPoolExecutor(4) as threads:
        bodies = list(
            threads.map(lambda one: encode_messages([one], ["image"]), questions)
        )
    assert len(encoded) == 3
    assert len(set(bodies)) == 10
    assert all(body.count(b"data:image/png;base64,") == 3 for body in bodies)
