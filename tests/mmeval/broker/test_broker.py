import asyncio
import json
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mmeval.backend import sendable
from mmeval.backend.capabilities import Capabilities
from mmeval.backend.routes import ROUTES, TO_DESCRIBE
from mmeval.broker.broker import MAX_DRAWS, Broker
from mmeval.broker.scope import Scope, Transcript
from mmeval.errors import (
    BackendDownError,
    KeyRefusedError,
    ReplayMismatchError,
    StoppedError,
    StorageError,
)
from mmeval.media.decode import DecodeLimits
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part
from mmeval.model_backends.reference import ReferenceBackend
from mmeval.program.calls import (
    MAX_EXCERPT_CHARS,
    Call,
    Program,
    Reply,
    ask_all,
    ask_one,
)
from mmeval.records.digests import call_seed
from mmeval.records.request import Request
from mmeval.records.response import Response, Usage
from mmeval.records.sample import user
from mmeval.store.call_context import CallContext, raw_head
from mmeval.store.media_store import MediaStore
from mmeval.store.response_cache import ResponseCache
from mmeval.store.segment import Segment
from tests.support import tiny_media
from tests.support.engine import brokered
from tests.support.toy import (
    Toy,
    asked_text,
    asks,
    cast_agent,
    damage,
    picture,
    reply,
    request,
    sample,
)

T = TypeVar("T")


async def run(
    folder: Path,
    program: Program[T],
    at: Scope | None = None,
    transcript: Transcript | None = None,
    **given: Any,
) -> T:
    """What a program returns that is run alone, in a process of its own so to speak."""
    async with brokered(folder, **given) as broker:
        return await broker.run(program, at or scope(), transcript)


def scope(task: str = "t", id: str = "s0", repeat: int = 0, **more: Any) -> Scope:
    return Scope(task, sample(id), repeat, **more)


def failing(*kinds: str, **more: Any) -> Toy:
    """Fails with these kinds of error, then answers."""
    left = list(kinds)
    return Toy(
        answers=lambda _: (
            Response.failed(left.pop(0), "no", **more) if left else reply("at last")  # type: ignore[arg-type]
        )
    )


def error_of(response: Response) -> str:
    return f"{response.error.kind}: {response.error.words}" if response.error else ""


def texts(backend: Toy) -> list[str]:
    return [asked_text(asked) for asked in backend.asked]


def seeds(*backends: Toy) -> list[int | None]:
    return [asked.seed for backend in backends for asked in backend.asked]


async def test_the_same_first_question_is_asked_once_and_a_later_step_is_of_its_own_program(
    tmp_path: Path,
) -> None:
    model = Toy()
    async with brokered(tmp_path, model=model) as broker:
        both = [broker.run(asks("question 1"), scope(task)) for task in ("a", "b")]
        assert await asyncio.gather(*both) == [["answer 1"], ["answer 1"]]
        for task in ("c", "d"):
            assert await broker.run(asks("question 1", "question 2"), scope(task)) == [
                "answer 1",
                "answer 2",
            ]
    assert texts(model) == ["question 1", "question 2", "question 2"]


async def test_a_question_reaches_its_backend_in_seven_calls(tmp_path: Path) -> None:
    calls: list[str] = []

    class Inspecting(Toy):
        async def generate(self, request: Request) -> Response:
            frame = sys._getframe()
            while not calls or calls[-1] != "run":
                calls.append(frame.f_code.co_name)
                assert frame.f_back is not None
                frame = frame.f_back
            return await super().generate(request)

    await run(tmp_path, asks("question 1"), model=Inspecting())
    assert len(calls) <= 7, calls


async def test_a_program_that_yields_another_one_is_told_at_its_line(
    tmp_path: Path,
) -> None:
    def forgetful() -> Program[Any]:
        return (yield asks("q"))  # type: ignore[misc]  # the mistake

    with pytest.raises(TypeError, match="'yield from' before asks") as caught:
        await run(tmp_path, forgetful())
    assert caught.traceback[-1].name == "forgetful"


async def test_repeats_and_steps_asked_again_draw_anew_by_the_seed_of_the_run_whatever_the_task(
    tmp_path: Path,
) -> None:
    drawn = []
    for folder, seed, task in (("x", 0, "a"), ("y", 0, "b"), ("z", 1, "a")):
        model = Toy()
        async with brokered(tmp_path / folder, seed=seed, model=model) as broker:
            for repeat in range(3):
                await broker.run(
                    asks("question 1", "question 1", temperature=1.0),
                    scope(task, repeat=repeat),
                )
        drawn.append(seeds(model))
    assert (len(set(drawn[0])), drawn[0] == drawn[1], drawn[0][0] == drawn[2][0]) == (
        6,
        True,
        False,
    )


async def test_an_answer_from_the_sample_is_never_shared_and_follows_the_sample_and_the_prompt(
    tmp_path: Path,
) -> None:
    first = sample(answer="one")
    edited = sample(answer="two")
    other = sample("b", answer="three")
    for given, text in (
        (first, "question"),
        (edited, "question"),
        (other, "question"),
        (edited, "another question"),
    ):
        found = await run(
            tmp_path, asks(text), Scope("toy", given), model=ReferenceBackend()
        )
        assert found == [given.references[0].text]


async def test_a_trial_that_waits_for_one_that_was_given_up_asks_itself(
    tmp_path: Path,
) -> None:
    model = Toy(delay=1)
    async with brokered(tmp_path, model=model) as broker:
        first = asyncio.create_task(broker.run(asks("question 1"), scope("a")))
        second = asyncio.create_task(broker.run(asks("question 1"), scope("b")))
        await asyncio.sleep(0.5)
        first.cancel()
        assert await second == ["answer 1"]
    assert len(model.asked) == 2


async def test_after_a_crash_a_program_continues_with_its_first_missing_answer(
    tmp_path: Path,
) -> None:
    stopped = Toy(
        answers=lambda r: (
            reply("kept") if asked_text(r) != "c" else Response.failed("server", "no")
        )
    )
    assert await run(tmp_path, asks("a", "b", "c"), model=stopped) == [
        "kept",
        "kept",
        "server",
    ]
    model, again = Toy(), Transcript()
    assert await run(tmp_path, asks("a", "b", "c"), transcript=again, model=model) == [
        "kept",
        "kept",
        "c",
    ]
    assert (texts(model), again.replayed, [e.path for e in again.exchanges]) == (
        ["c"],
        2,
        ["0", "1", "2"],
    )


async def test_a_step_that_asks_something_else_than_before_is_named(
    tmp_path: Path,
) -> None:
    def pair(second: str) -> Program[None]:
        yield from ask_one(Call("model", request("begin")))
        yield from ask_all([Call("model", request(text)) for text in ("new", second)])

    await run(tmp_path, asks("a", "b"), model=Toy())
    with pytest.raises(ReplayMismatchError, match=r"step 1 of t/s0/0 .*--fresh"):
        await run(tmp_path, asks("a", "other"), model=Toy())
    await run(tmp_path / "pair", pair("b"), model=Toy())
    # although the answer beside it is newer
    with pytest.raises(ReplayMismatchError, match=r"step 1\.1 "):
        await run(tmp_path / "pair", pair("changed"), model=Toy())


def turns(count: int) -> Program[list[str]]:
    """Questions that each repeat the answer before."""
    given = ["begin"]
    for turn in range(count):
        got = yield from ask_one(Call("model", request(f"turn {turn}: {given[-1]}")))
        given.append(got.text if got.ok else "nothing")
    return given[1:]


def worded(mark: str) -> Toy:
    return Toy(answers=lambda asked: reply(f"{mark}{asked_text(asked)[5]}"))


@pytest.mark.parametrize("lost", [0, 1, 2])
async def test_what_followed_from_a_lost_answer_is_asked_again_and_no_more(
    tmp_path: Path, lost: int
) -> None:
    await run(tmp_path, turns(3), model=worded("old "))
    damage(tmp_path, f"#{lost}")
    model, idle = worded("new "), Toy()
    await run(tmp_path, turns(3), model=model)
    assert len(model.asked) == 3 - lost
    given = await run(tmp_path, turns(3), model=idle)
    assert (given, idle.asked) == (
        [f"{'new' if i >= lost else 'old'} {i}" for i in range(3)],
        [],
    )
    # and so it is where that answer alone is asked again, by another task
    damage(tmp_path, "#0")
    await run(tmp_path, turns(1), scope("other"), model=worded("newest "))
    assert await run(tmp_path, turns(3), model=worded("newest ")) == [
        "newest 0",
        "newest 1",
        "newest 2",
    ]


async def test_a_lost_answer_of_an_agent_is_asked_again_with_what_it_asked_after_it(
    tmp_path: Path,
) -> None:
    for mark in ("old", "new"):
        helper = Toy(
            answers=lambda asked, mark=mark: reply(f"{mark} of {asked_text(asked)}")  # type: ignore[misc]
        )
        found = await run(
            tmp_path,
            asks("question 1", "question 2"),
            model=cast_agent(),
            helper=helper,
        )
        assert found == [
            f"{mark} of better: {mark} of draft: question 1",
            "old of better: old of draft: question 2",
        ]
        damage(tmp_path, "question 1")


async def test_an_answer_is_journalled_before_it_is_cached_and_a_full_cache_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with brokered(tmp_path, model=Toy()) as broker:
        journalled = []

        def full(key: str, response: Response) -> None:
            journalled.append(len(broker.journal))
            raise StorageError("disk full")

        cache = ResponseCache(tmp_path / "cache")
        monkeypatch.setattr(cache, "put", full)
        monkeypatch.setattr(broker, "_cache", cache)
        assert await broker.run(asks("question 1"), scope()) == ["answer 1"]
    (warning,) = caplog.messages
    assert (journalled, warning.partition(".")[0]) == ([1], "disk full")


async def test_an_answer_keeps_its_media_and_its_reasoning_apart(
    tmp_path: Path,
) -> None:
    answer = "<think>I draw <image1></think>see <image1>"
    model, transcript = Toy(answers=lambda _: reply(answer, picture(4))), Transcript()
    await run(tmp_path, asks("draw"), transcript=transcript, model=model)
    output = transcript.exchanges[0].response.output
    assert output is not None
    assert [part.kind for part in output.parts] == ["reasoning", "text", "image"]
    assert output.text == "see <image1>"
    assert output.media()[0].path is not None


@pytest.mark.parametrize(
    ("kinds", "retries", "result", "calls"),
    [
        (["timeout"] * 2, 2, "at last", 3),
        (["server"] * 3, 1, "server", 2),
        (["internal"], 5, "internal", 1),
        (["rate_limit"] * 100, 0, "at last", 101),
        (["rate_limit"] * 101, 0, "rate_limit", 101),
    ],
    ids=lambda value: str(value)[:24],
)
async def test_errors_of_the_way_are_retried(
    tmp_path: Path, kinds: Any, retries: int, result: str, calls: int
) -> None:
    model = failing(*kinds)
    assert await run(tmp_path, asks("a"), retries=retries, model=model) == [result]
    assert len(model.asked) == calls


async def keys(
    folder: Path, *failures: str, nonce: str = "n", retries: int = 1, **at: Any
) -> list[str]:
    """The keys under which a backend that fails like this before it answers is sent one
    question."""
    backend = failing(*failures)
    await run(
        folder, asks("q"), scope(**at), model=backend, retries=retries, nonce=nonce
    )
    return [asked.key for asked in backend.asked]


async def test_a_call_is_sent_again_under_its_key_until_a_reply_has_come(
    tmp_path: Path,
) -> None:
    [first] = await keys(tmp_path / "killed")
    assert await keys(tmp_path / "again") == [first]
    for folder, kind in enumerate(("timeout", "connection", "rate_limit")):
        assert await keys(tmp_path / str(folder), kind) == [first, first]
    for folder, kind in enumerate(("server", "bad_reply"), start=3):
        found = await keys(tmp_path / str(folder), kind, kind)
        found += await keys(tmp_path / str(folder))
        assert (found[0], len(set(found))) == (first, 3)
    others = [
        await keys(tmp_path / "more", repeat=1),
        await keys(tmp_path / "run", nonce="m"),
    ]
    assert len({first, *others[0], *others[1]}) == 3
    assert await keys(tmp_path / "none", nonce="") == [""]


async def test_fifty_failures_in_a_row_mean_that_the_backend_is_gone(
    tmp_path: Path,
) -> None:
    model = failing(*["connection"] * 99)
    async with brokered(tmp_path, model=model) as broker:
        for i in range(49):
            assert await broker.run(asks(f"{i}"), scope()) == ["connection"]
        for text in ("49", "50"):
            with pytest.raises(BackendDownError, match="50 "):
                await broker.run(asks(text), scope())
    assert len(model.asked) == 50
    model = Toy(
        answers=lambda r: (
            reply("fine") if asked_text(r) == "30" else Response.failed("server", "no")
        )
    )
    async with brokered(tmp_path / "with an answer in between", model=model) as broker:
        for i in range(79):
            await broker.run(asks(f"{i}"), scope())
    assert len(model.asked) == 79


async def test_the_tries_of_a_call_that_is_given_up_stay_counted(
    tmp_path: Path,
) -> None:
    model = failing("server", "server", "rate_limit")
    async with brokered(tmp_path, retries=5, model=model) as broker:
        broker.roles["model"].observer.room = lambda: (
            broker.stop() if len(model.asked) == 3 else None
        )
        with pytest.raises(StoppedError):
            await broker.run(asks("a"), scope())
    async with brokered(tmp_path, retries=5, model=failing("auth")) as broker:
        assert broker.journal.spending.total.calls == 3
        with pytest.raises(KeyRefusedError):
            await broker.run(asks("a"), scope())
        assert (broker.journal.spending.total.calls, len(broker.journal)) == (4, 0)


async def test_a_call_that_cannot_be_made_has_an_error_and_is_not_sent(
    tmp_path: Path,
) -> None:
    def clumsy(_: Request) -> Response:
        raise KeyError("oops")

    blind, transcript = Toy(takes="text"), Transcript()
    look = ask_one(Call("model", request("look", picture())))
    await run(tmp_path, look, transcript=transcript, model=blind)
    clumsy_model = Toy(answers=clumsy)
    await run(tmp_path, asks("a"), transcript=transcript, model=clumsy_model)
    captioned = asks("a", role="captioner")
    await run(tmp_path, captioned, transcript=transcript, model=Toy())
    first, second, third = (
        error_of(exchange.response) for exchange in transcript.exchanges
    )
    assert (first.partition(" ")[0], second) == (
        "unsupported:",
        "internal: KeyError: 'oops'",
    )
    assert (third.partition(":")[0], blind.asked) == ("unsupported", [])


async def test_an_answer_beside_a_call_that_cannot_be_made_is_kept(
    tmp_path: Path,
) -> None:
    class Slow(Toy):
        async def generate(self, request: Request) -> Response:
            bad = asked_text(request) == "bad"
            await asyncio.sleep(0.5 if bad else 1)
            return Response.failed("auth", "no") if bad else reply("fine")

    async with brokered(tmp_path, model=Slow()) as broker:
        transcript = Transcript()
        calls = [Call("model", request(text)) for text in ("good", "bad")]
        with pytest.raises(KeyRefusedError):
            await broker.run(ask_all(calls), scope(), transcript)
        assert len(broker.journal) == 1
        assert transcript.exchanges == []  # the step has not come to its end


async def test_an_agents_answer_is_one_exchange_which_is_replayed_without_its_helpers(
    tmp_path: Path,
) -> None:
    for asked in (["draft: question 1", "better: draft: answer 1"], []):
        helper, transcript = Toy(), Transcript()
        found = await run(
            tmp_path,
            asks("question 1"),
            transcript=transcript,
            model=cast_agent(),
            helper=helper,
        )
        assert (found, texts(helper)) == (["better: draft: answer 1"], asked)
        assert [(e.path, e.role) for e in transcript.exchanges] == [("0", "model")]
    # Asked again it draws anew.
    helper = Toy(answers=lambda asked: reply(str(asked.seed)))
    first, again = await run(
        tmp_path / "seeds",
        asks("question 1", "question 1"),
        model=cast_agent(),
        helper=helper,
    )
    assert first != again


async def test_roles_that_share_a_backend_close_it_once(tmp_path: Path) -> None:
    shared = Toy()
    async with brokered(tmp_path, model=shared) as broker:
        broker.roles["judge"] = broker.roles["model"]
    assert shared.closed == 1


def wants_yes(response: Response) -> str:
    return "" if response.text == "yes" else "neither yes nor no"


def judged(
    count: int = 1, accept: Callable[[Response], str] = wants_yes
) -> Program[list[str]]:
    """The same question, some times over; the answers, or the failures in their own
    words."""
    replies = yield from ask_all(
        [Call("judge", request("met?"), accept=accept)] * count
    )
    return [reply.text if reply.ok else error_of(reply.response) for reply in replies]


def saying(*words: str) -> Toy:
    """Gives one after the other, the last one for ever."""
    left = list(words)
    return Toy(answers=lambda _: reply(left.pop(0) if len(left) > 1 else left[0]))


def by_content(task: str = "t", id: str = "s0", repeat: int = 0) -> Scope:
    return scope(task, id, repeat, part="score/x", share=False, by_content=True)


def journalled(folder: Path) -> list[Any]:
    (segment,) = folder.glob("journal/*.jsonl")
    return [json.loads(line) for line in segment.read_text().splitlines()]


async def test_after_three_tries_the_call_has_failed_with_the_beginning_of_the_reply(
    tmp_path: Path,
) -> None:
    def broken(_: Response) -> str:
        raise KeyError("met")

    judge = saying("x" * 301)
    (failed,) = await run(tmp_path, judged(), by_content(), judge=judge)
    assert (len(judge.asked), MAX_DRAWS, MAX_EXCERPT_CHARS) == (3, 3, 300)
    assert (failed[:21], failed.endswith(f" '{'x' * 300}...'")) == (
        "bad_reply: neither ye",
        True,
    )
    whole = await run(
        tmp_path / "whole", judged(), by_content(), judge=saying("x " * 149 + "xx")
    )
    assert whole[0].endswith("x xx'")
    # a reply that is lost on its way is tried again as often as any call
    lost = failing(*["bad_reply"] * 5)
    await run(tmp_path / "lost", judged(), by_content(), retries=1, judge=lost)
    assert len(lost.asked) == 2
    (odd,) = await run(
        tmp_path / "odd", judged(accept=broken), by_content(), judge=saying("yes")
    )
    assert ("KeyError: 'met'" in odd, len(journalled(tmp_path / "odd"))) == (
        True,
        MAX_DRAWS,
    )


def declining(words: str = "") -> Toy:
    """A backend that refuses everything."""
    output = Interleaved.from_text(words)
    return Toy(answers=lambda _: Response(output, finish_reason="refused"))


async def test_what_the_judge_refused_is_asked_once_by_all_processes(
    tmp_path: Path,
) -> None:
    judge = declining("I cannot judge that.")
    for _ in range(2):
        (failed,) = await run(tmp_path, judged(), by_content(), judge=judge)
        assert failed.startswith("refused: ")
    assert len(judge.asked) == 1


async def test_a_refused_reply_that_is_acceptable_answers_the_call(
    tmp_path: Path,
) -> None:
    words = await run(tmp_path, judged(), by_content(), judge=declining("yes"))
    assert words == ["yes"]


async def test_a_backend_may_report_a_refusal_as_an_error(tmp_path: Path) -> None:
    model = failing("refused")
    (words,) = await run(tmp_path, judged(accept=lambda _: ""), scope(), judge=model)
    assert (words, journalled(tmp_path)[-1]["r"]["finish_reason"]) == ("", "refused")


async def test_a_reply_that_was_refused_is_kept_with_its_cost_and_never_answers_later(
    tmp_path: Path,
) -> None:
    costly = Toy(
        answers=lambda _: replace(reply("perhaps"), usage=Usage(7, 3), served="j-1")
    )
    await run(tmp_path, judged(), by_content(), judge=costly)
    kept = [row["failed"] for row in journalled(tmp_path)]
    assert [(row["error"]["kind"], row["usage"], row["served"]) for row in kept] == [
        ("bad_reply", [7, 3], "j-1")
    ] * 3
    later = saying("perhaps", "yes")
    assert await run(tmp_path, judged(), by_content(), judge=later) == ["yes"]
    assert len(set(seeds(costly, later))) == MAX_DRAWS + 2, (
        "what was refused is not drawn again"
    )


async def test_a_refused_reply_is_not_kept_for_other_runs(tmp_path: Path) -> None:
    asked = []
    for name, judge in (
        ("first", saying("perhaps", "yes")),
        ("second", saying("yes")),
        ("third", saying("yes")),
    ):
        async with brokered(tmp_path / name, judge=judge) as broker:
            broker._cache = ResponseCache(tmp_path / "cache")
            assert await broker.run(judged(), by_content()) == ["yes"]
        asked.append(len(judge.asked))
    assert asked == [2, 1, 0], (
        "the second run asks again what the first one refused, the third finds its "
        "answer"
    )


async def test_equal_questions_of_samples_repeats_and_tasks_are_asked_once_at_every_step(
    tmp_path: Path,
) -> None:
    judge = saying("yes")
    async with brokered(tmp_path, judge=judge) as broker:
        scopes = [
            by_content(),
            by_content(id="s1"),
            by_content(repeat=3),
            by_content("other"),
        ]
        assert (
            await asyncio.gather(*(broker.run(judged(), one) for one in scopes))
            == [["yes"]] * 4
        )
    assert len(judge.asked) == 1
    judge = Toy()
    async with brokered(tmp_path, judge=judge) as broker:
        for text in ("question 1", "question 3"):
            await broker.run(
                asks(text, "question 2", role="judge"), by_content(id=text)
            )
    assert texts(judge) == ["question 1", "question 2", "question 3"]


async def test_repeats_of_a_verdict_are_drawn_each_for_itself_and_shared_one_by_one(
    tmp_path: Path,
) -> None:
    judge = saying("yes")
    async with brokered(tmp_path, judge=judge) as broker:
        for id, count in (("s0", 2), ("s1", 3), ("s2", 1)):
            assert await broker.run(judged(count), by_content(id=id)) == ["yes"] * count
    assert len(set(seeds(judge))) == len(judge.asked) == 3


async def test_an_agents_verdict_does_not_depend_on_the_repeat_that_asks_first(
    tmp_path: Path,
) -> None:
    drawn = []
    for repeat in (0, 3):
        helper, verdict = saying("yes"), asks("question 1", role="judge")
        await run(
            tmp_path / str(repeat),
            verdict,
            by_content(repeat=repeat),
            judge=cast_agent(),
            helper=helper,
        )
        drawn.append(seeds(helper))
    assert drawn[0] == drawn[1] != []


def left_by_a_worker(broker: Broker, folder: Path, question: str, answer: str) -> None:
    """An answer that a worker has written, and that its process was killed before
    checking."""
    asked = Call("model", request(question))
    key = broker.keyed_call(asked, scope(), "0", Transcript(), shared=True).key
    segment = Segment(folder / "journal", MediaStore(folder / "media"))
    segment.keep(raw_head(CallContext("t", key), asked.request), reply(answer))
    segment.close()


async def test_what_the_last_process_had_no_time_to_check_is_checked_by_this_one(
    tmp_path: Path,
) -> None:
    model = Toy()
    async with brokered(tmp_path, model=model) as broker:
        left_by_a_worker(broker, tmp_path, "question 1", "<think>hm</think>answer 1")
        left_by_a_worker(broker, tmp_path, "question 2", "answer 2")
    for _ in range(2):
        transcript = Transcript()
        assert await run(
            tmp_path,
            asks("question 1", "question 2"),
            transcript=transcript,
            model=model,
        ) == ["answer 1", "answer 2"]
        assert transcript.replayed >= 1
    assert texts(model) == ["question 2"], (
        "only a first question is found by its content"
    )


async def test_an_unacceptable_reply_of_the_last_process_is_the_first_of_those_that_are_drawn(
    tmp_path: Path,
) -> None:
    def program() -> Program[str]:
        return (
            yield from ask_one(Call("model", request("met?"), accept=wants_yes))
        ).text

    model = Toy(answers=lambda asked: reply("yes"))
    async with brokered(tmp_path, model=model) as broker:
        left_by_a_worker(broker, tmp_path, "met?", "perhaps")
    for _ in range(2):
        assert await run(tmp_path, program(), model=model) == "yes"
    assert seeds(model) == [call_seed(0, request("met?").digest, 0, 0, 0, 1)]


async def test_an_answer_that_has_just_come_is_left_to_the_task_that_asked_for_it(
    tmp_path: Path,
) -> None:
    async with brokered(tmp_path, model=Toy(delay=1)) as broker:
        first = asyncio.create_task(broker.run(asks("question 1"), scope("a")))
        await asyncio.sleep(0.5)
        asked = Call("model", request("question 1"))
        keyed_call = broker.keyed_call(asked, scope(), "0", Transcript(), shared=True)
        context = CallContext("t", keyed_call.key)
        segment = Segment(tmp_path / "journal", MediaStore(tmp_path / "media"))
        raw = segment.keep(
            raw_head(context, asked.request), reply("<think>hm</think>raw")
        )
        broker.journal.adopt(context, asked.request.digest, segment.path, raw)
        second = await broker.run(asks("question 1"), scope("b"))
    assert (await first, second) == (["answer 1"], ["answer 1"])


SHAPE = Media.from_bytes(tiny_media.PLAIN_OBJ)


def describe() -> Program[Reply]:
    return (
        yield from ask_one(Call("judge", Request((user(SHAPE),)), convert=TO_DESCRIBE))
    )


async def test_a_renderer_that_draws_in_another_way_asks_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked(takes: str) -> int:
        judge = Toy(takes=takes, answers=lambda _: reply("a triangle"))
        async with brokered(tmp_path, judge=judge) as broker:
            await broker.run(describe(), scope(by_content=True))
        return len(judge.asked)

    before = [
        await asked("text+image"),
        await asked("text+image"),
        await asked("text+3d"),
    ]
    monkeypatch.setattr(
        sendable,
        "ROUTES",
        {**ROUTES, "3d->renders": replace(ROUTES["3d->renders"], version=99)},
    )
    monkeypatch.setattr(sendable, "_routes", sendable._routes.__wrapped__)

    assert before == [1, 0, 1]
    assert (await asked("text+image"), await asked("text+3d")) == (1, 0), (
        "it takes models as they are"
    )


async def test_calls_share_one_conversion_outside_of_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted: list[Call] = []
    where: list[threading.Thread] = []
    route = ROUTES["3d->renders"]

    def prepared(call: Call, able: Capabilities) -> sendable.Sendable:
        converted.append(call)
        return sendable.sendable(call, able)

    def drawn(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
        where.append(threading.current_thread())
        return route.convert(media, limits)

    monkeypatch.setattr("mmeval.broker.broker.sendable", prepared)
    monkeypatch.setattr(
        sendable, "ROUTES", {**ROUTES, "3d->renders": replace(route, convert=drawn)}
    )
    monkeypatch.setattr(sendable, "_routes", sendable._routes.__wrapped__)
    async with brokered(tmp_path, judge=Toy(takes="text+image")) as broker:
        await asyncio.gather(
            *(broker.run(describe(), scope(f"t{i}", by_content=True)) for i in range(5))
        )

    assert (len(converted), len(where), threading.main_thread() in where) == (
        1,
        1,
        False,
    )
