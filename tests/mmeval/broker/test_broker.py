from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.contract import AnyBackend
from mmeval.broker import runtime as roles_module
from mmeval.broker.broker import JUDGE_TRIES, Broker, Scope
from mmeval.broker.runtime import BackendRuntime
from mmeval.content.parts import Interleaved, Part
from mmeval.errors import (
    BackendDownError,
    KeyRefusedError,
    MissingDataError,
    ReplayMismatchError,
    StoppedError,
    StorageError,
)
from mmeval.model_backends.reference import ReferenceBackend
from mmeval.program.calls import Call, Program, ask_all, ask_one
from mmeval.records.digests import call_seed
from mmeval.records.request import Request
from mmeval.records.response import Response, Usage, answered
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.response_cache import ResponseCache
from mmeval.store.segment import Segment
from mmeval.store.ticket import Ticket, raw_head
from tests.support.toy import Toy, ToyAgent, asked_text, asks, damage, picture, reply, request, sample


@asynccontextmanager
async def brokered(folder: Path, retries: int = 0, seed: int = 0, **roles: AnyBackend) -> AsyncIterator[Broker]:
    """A broker over a journal in a folder; the same folder again continues."""
    journal = Journal(folder / "journal", MediaStore(folder / "media"))
    broker = Broker(journal, seed=seed, reasoning_tags=("<think>", "</think>"))
    broker.roles = {
        name: BackendRuntime(backend, limit=8, retries=retries, live=lambda: 1) for name, backend in roles.items()
    }
    try:
        yield broker
    finally:
        await broker.close()
        journal.close()


def scope(task: str = "t", id: str = "s0", repeat: int = 0, **more: Any) -> Scope:
    return Scope(task, sample(id), repeat, **more)


def failing(*kinds: str, after: Callable[[Request], Response] = lambda r: reply("at last"), **more: Any) -> Toy:
    """Fails with these kinds of error, then answers."""
    left = list(kinds)
    return Toy(answers=lambda r: Response.failed(left.pop(0), "no", **more) if left else after(r))  # type: ignore[arg-type]


def texts(backend: Toy) -> list[str]:
    return [asked_text(asked) for asked in backend.asked]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roles_module, "BACKOFF_BASE", 0.001)
    monkeypatch.setattr(roles_module, "REFUSED_BASE", 0.001)


# --- what is shared ----------------------------------------------------------------------------------------------


async def test_the_same_first_question_of_two_tasks_is_asked_once(tmp_path: Path) -> None:
    model = Toy()
    async with brokered(tmp_path, model=model) as broker:
        both = [broker.run(asks("question 1"), scope(task)) for task in ("a", "b")]
        assert await asyncio.gather(*both) == [["answer 1"], ["answer 1"]]
        assert await broker.run(asks("question 1"), scope("c")) == ["answer 1"]
    assert texts(model) == ["question 1"]


async def test_a_later_step_belongs_to_its_own_program(tmp_path: Path) -> None:
    model = Toy()
    async with brokered(tmp_path, model=model) as broker:
        for task in ("a", "b"):
            await broker.run(asks("question 1", "question 2"), scope(task))
    assert texts(model) == ["question 1", "question 2", "question 2"]


async def test_repeats_are_asked_each_with_a_seed_of_its_own(tmp_path: Path) -> None:
    model = Toy()
    async with brokered(tmp_path, model=model) as broker:
        for repeat in range(3):
            await broker.run(asks("question 1"), scope(repeat=repeat))
    assert len({asked.seed for asked in model.asked}) == 3


async def test_a_step_asked_again_draws_anew(tmp_path: Path) -> None:
    model = Toy(answers=lambda asked: reply(str(asked.seed)))
    async with brokered(tmp_path, model=model) as broker:
        first, again = await broker.run(asks("question 1", "question 1", temperature=1.0), scope())
    assert first != again


async def test_seeds_depend_on_the_run_and_on_what_is_asked_alone(tmp_path: Path) -> None:
    seeds = []
    for folder, seed, task in (("x", 0, "a"), ("y", 0, "b"), ("z", 1, "a")):
        model = Toy()
        async with brokered(tmp_path / folder, seed=seed, model=model) as broker:
            await broker.run(asks("question 1"), scope(task))
        seeds.append(model.asked[0].seed)
    assert seeds[0] == seeds[1] != seeds[2]


async def test_a_backend_that_answers_from_the_sample_is_never_shared(tmp_path: Path) -> None:
    async with brokered(tmp_path, model=ReferenceBackend()) as broker:
        said = []
        for id in ("a", "b"):
            asked = Scope("t", sample(id, answer=f"truth of {id}"))
            said.append(await broker.run(asks("question 1"), asked))
    assert said == [["truth of a"], ["truth of b"]]


async def test_a_trial_that_waits_for_one_that_was_given_up_asks_itself(tmp_path: Path) -> None:
    model = Toy(delay=0.05)
    async with brokered(tmp_path, model=model) as broker:
        first = asyncio.create_task(broker.run(asks("question 1"), scope("a")))
        second = asyncio.create_task(broker.run(asks("question 1"), scope("b")))
        await asyncio.sleep(0.01)
        first.cancel()
        assert await second == ["answer 1"]
    assert len(model.asked) == 2


# --- what is replayed --------------------------------------------------------------------------------------------


async def test_after_a_crash_a_program_continues_with_its_first_missing_answer(tmp_path: Path) -> None:
    stopped = Toy(answers=lambda r: reply("kept") if asked_text(r) != "c" else Response.failed("server", "no"))
    async with brokered(tmp_path, model=stopped) as broker:
        assert await broker.run(asks("a", "b", "c"), scope()) == ["kept", "kept", "server"]
    model = Toy()
    async with brokered(tmp_path, model=model) as broker:
        again = scope()
        assert await broker.run(asks("a", "b", "c"), again) == ["kept", "kept", "c"]
    assert (texts(model), again.replayed, [e.path for e in again.exchanges]) == (["c"], 2, ["0", "1", "2"])


async def test_a_step_that_asks_something_else_than_before_is_named(tmp_path: Path) -> None:
    async with brokered(tmp_path, model=Toy()) as broker:
        await broker.run(asks("a", "b"), scope())
        with pytest.raises(ReplayMismatchError, match=r"step 1 of t/s0/0 now asks something else.*--fresh"):
            await broker.run(asks("a", "other"), scope())


def turns(count: int, last: str = "turn") -> Program[list[str]]:
    """Questions that each repeat the answer before."""
    said = ["begin"]
    for turn in range(count):
        got = yield from ask_one(Call("model", request(f"{last if turn == count - 1 else 'turn'} {turn}: {said[-1]}")))
        said.append(got.text if got.ok else "nothing")
    return said[1:]


def worded(mark: str) -> Toy:
    return Toy(answers=lambda asked: reply(f"{mark}{asked_text(asked)[5]}"))


@pytest.mark.parametrize(
    ("lost", "asked"), [("turn 0", 3), ("turn 1", 2), ("turn 2", 1)], ids=["first", "middle", "last"]
)
async def test_what_followed_from_a_lost_answer_is_asked_again_and_no_more(
    tmp_path: Path, lost: str, asked: int
) -> None:
    async with brokered(tmp_path, model=worded("old ")) as broker:
        await broker.run(turns(3), scope())
    damage(tmp_path, f"#{lost[-1]}")
    model = worded("new ")
    async with brokered(tmp_path, model=model) as broker:
        await broker.run(turns(3), scope())
    assert len(texts(model)) == asked
    async with brokered(tmp_path, model=(idle := Toy())) as broker:
        said = await broker.run(turns(3), scope())
    assert (said, texts(idle)) == ([f"{'new' if i >= 3 - asked else 'old'} {i}" for i in range(3)], [])


async def test_a_process_that_dies_after_the_lost_answer_leaves_the_rest_to_the_next(tmp_path: Path) -> None:
    async with brokered(tmp_path, model=worded("old ")) as broker:
        await broker.run(turns(3), scope())
    damage(tmp_path, "#0")
    async with brokered(tmp_path, model=worded("new ")) as broker:
        await broker.run(turns(1), scope())
    async with brokered(tmp_path, model=worded("new ")) as broker:
        assert await broker.run(turns(3), scope()) == ["new 0", "new 1", "new 2"]


async def test_a_lost_answer_that_another_task_has_asked_for_again_makes_the_later_steps_stale_too(
    tmp_path: Path,
) -> None:
    async with brokered(tmp_path, model=worded("old ")) as broker:
        await broker.run(turns(3), scope("a"))
    damage(tmp_path, "#0")
    async with brokered(tmp_path, model=worded("new ")) as broker:
        await broker.run(turns(1), scope("b"))
        assert await broker.run(turns(3), scope("a")) == ["new 0", "new 1", "new 2"]


async def test_a_lost_answer_of_an_agent_is_asked_again_with_what_it_asked_after_it(tmp_path: Path) -> None:
    for mark in ("old", "new"):
        helper = Toy(answers=lambda asked, mark=mark: reply(f"{mark} of {asked_text(asked)}"))  # type: ignore[misc]
        async with brokered(tmp_path, model=ToyAgent(), helper=helper) as broker:
            said, beside = await broker.run(asks("question 1", "question 2"), scope())
            assert said == f"{mark} of better: {mark} of draft: question 1"
            assert beside == "old of better: old of draft: question 2"
        damage(tmp_path, "question 1")


async def test_a_changed_question_is_named_although_an_answer_beside_it_is_newer(tmp_path: Path) -> None:
    def pair(second: str) -> Program[None]:
        yield from ask_one(Call("model", request("begin")))
        yield from ask_all([Call("model", request(text)) for text in ("a", second)])

    async with brokered(tmp_path, model=Toy()) as broker:
        await broker.run(pair("b"), scope())
    async with brokered(tmp_path, model=Toy()) as broker:
        with pytest.raises(ReplayMismatchError, match=r"step 1\.1"):
            await broker.run(pair("changed"), scope())


async def test_an_answer_is_journalled_before_it_is_cached_and_a_full_cache_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with brokered(tmp_path, model=Toy()) as broker:
        journalled = []

        def full(key: str, response: Response) -> None:
            journalled.append(len(broker.journal))
            raise StorageError("--use_cache: an answer cannot be kept (disk full)")

        cache = ResponseCache(tmp_path / "cache")
        monkeypatch.setattr(cache, "put", full)
        monkeypatch.setattr(broker, "_cache", cache)
        assert await broker.run(asks("question 1"), scope()) == ["answer 1"]

    assert journalled == [1]
    assert caplog.messages == [
        "--use_cache: an answer cannot be kept (disk full). The answer is kept in the run folder"
    ]


async def test_another_backend_in_a_role_does_not_inherit_answers(tmp_path: Path) -> None:
    for judge, said in ((Toy(model="toy-1"), "yes"), (Toy(model="toy-strict"), "no")):
        async with brokered(tmp_path, judge=judge) as broker:
            verdict = broker.run(asks("met?", role="judge"), scope(part="score", share=False))
            assert await verdict == [said]


async def test_an_answer_keeps_its_media_and_its_hidden_reasoning_apart(tmp_path: Path) -> None:
    model = Toy(answers=lambda r: reply("<think>hm</think>see <image1>", picture(4)))
    async with brokered(tmp_path, model=model) as broker:
        asked = scope()
        await broker.run(asks("draw"), asked)
        output = asked.exchanges[0].response.output
        assert output is not None
        assert [part.kind for part in output.parts] == ["reasoning", "text", "image"]
        assert output.text == "see <image1>"
        assert output.media()[0].path is not None


async def test_reasoning_that_is_apart_already_stays_as_it_is(tmp_path: Path) -> None:
    parts = (Part("reasoning", "hm", raw="<think>hm</think>"), Part("code", "print(1)", raw="<<code1>>", label="code1"))
    model = Toy(answers=lambda r: answered(parts))
    async with brokered(tmp_path, model=model) as broker:
        asked = scope()
        await broker.run(asks("draw"), asked)
        assert asked.exchanges[0].response.output == Interleaved(parts)


# --- what fails --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["timeout", "connection", "server", "bad_reply"])
async def test_errors_of_the_way_are_tried_again(tmp_path: Path, kind: str) -> None:
    model = failing(kind, kind)
    async with brokered(tmp_path, retries=2, model=model) as broker:
        assert await broker.run(asks("a"), scope()) == ["at last"]
    assert len(model.asked) == 3


async def test_after_so_many_tries_a_call_has_failed(tmp_path: Path) -> None:
    model = failing("server", "server", "server")
    async with brokered(tmp_path, retries=1, model=model) as broker:
        assert await broker.run(asks("a"), scope()) == ["server"]
    assert len(model.asked) == 2


@pytest.mark.parametrize("kind", ["bad_request", "too_long", "unsupported", "out_of_memory", "internal"])
async def test_errors_of_the_request_are_not_tried_again(tmp_path: Path, kind: str) -> None:
    model = failing(kind)
    async with brokered(tmp_path, retries=5, model=model) as broker:
        assert await broker.run(asks("a"), scope()) == [kind]
    assert len(model.asked) == 1


async def test_a_refusal_for_the_rate_is_no_failed_try(tmp_path: Path) -> None:
    model = failing(*["rate_limit"] * 4, retry_after=0.001)
    async with brokered(tmp_path, retries=0, model=model) as broker:
        assert await broker.run(asks("a"), scope()) == ["at last"]


async def test_where_most_calls_are_refused_for_the_rate_the_role_slows_down(tmp_path: Path) -> None:
    model = failing(*["rate_limit"] * 9, retry_after=0.001)
    async with brokered(tmp_path, retries=0, model=model) as broker:
        await asyncio.gather(*(broker.run(asks(f"{i}"), scope(id=f"s{i}")) for i in range(8)))
        assert broker.roles["model"].limiter.allowed < 8


async def test_a_refused_key_stops_everything_with_the_way_out(tmp_path: Path) -> None:
    model = failing("auth")
    async with brokered(tmp_path, retries=5, model=model) as broker:
        for text in ("a", "b"):
            with pytest.raises(KeyRefusedError, match="fix the key, then run the same command"):
                await broker.run(asks(text), scope())
    assert texts(model) == ["a"]


async def test_fifty_failures_in_a_row_mean_that_the_backend_is_gone(tmp_path: Path) -> None:
    model = failing(*["connection"] * 99)
    async with brokered(tmp_path, model=model) as broker:
        for i in range(49):
            assert await broker.run(asks(f"{i}"), scope()) == ["connection"]
        for text in ("49", "50"):
            with pytest.raises(BackendDownError, match="50 calls in a row failed"):
                await broker.run(asks(text), scope())
    assert len(model.asked) == 50


async def test_the_tries_of_a_call_that_is_given_up_stay_counted(tmp_path: Path) -> None:
    model = failing("server", "server", "rate_limit")
    async with brokered(tmp_path, retries=5, model=model) as broker:
        broker.roles["model"].on_rest = lambda: broker.stop() if len(model.asked) == 3 else None
        with pytest.raises(StoppedError):
            await broker.run(asks("a"), scope())
    async with brokered(tmp_path, retries=5, model=failing("auth")) as broker:
        assert broker.journal.spending.total.calls == 3
        with pytest.raises(KeyRefusedError):
            await broker.run(asks("a"), scope())
        assert (broker.journal.spending.total.calls, len(broker.journal)) == (4, 0)


async def test_an_answer_in_between_starts_the_count_again(tmp_path: Path) -> None:
    model = Toy(answers=lambda r: reply("fine") if asked_text(r) == "30" else Response.failed("server", "no"))
    async with brokered(tmp_path, model=model) as broker:
        for i in range(79):
            await broker.run(asks(f"{i}"), scope())
    assert len(model.asked) == 79


async def test_what_the_backend_cannot_take_is_not_sent(tmp_path: Path) -> None:
    model = Toy(takes="text")
    async with brokered(tmp_path, model=model) as broker:
        asked = scope()
        await broker.run(ask_one(Call("model", request("look", picture()))), asked)
    error = asked.exchanges[0].response.error
    assert error is not None
    assert (error.kind, error.message, model.asked) == ("unsupported", "the model takes no image", [])


async def test_a_role_that_nobody_plays_is_unsupported(tmp_path: Path) -> None:
    async with brokered(tmp_path, model=Toy()) as broker:
        assert await broker.run(asks("a", role="captioner"), scope()) == ["unsupported"]


async def test_a_backend_that_raises_is_an_internal_error_of_that_call(tmp_path: Path) -> None:
    def clumsy(_: Request) -> Response:
        raise KeyError("oops")

    async with brokered(tmp_path, model=Toy(answers=clumsy)) as broker:
        asked = scope()
        await broker.run(asks("a"), asked)
    error = asked.exchanges[0].response.error
    assert error is not None
    assert (error.kind, error.message) == ("internal", "KeyError: 'oops'")


# --- many at once, and within each other -------------------------------------------------------------------------


async def test_independent_calls_are_answered_in_their_order(tmp_path: Path) -> None:
    def program() -> Program[list[str]]:
        replies = yield from ask_all([Call("model", request(f"question {i}")) for i in (2, 1, 2)])
        return [f"{reply.path} {reply.text}" for reply in replies]

    model = Toy()
    async with brokered(tmp_path, model=model) as broker:
        assert await broker.run(program(), scope()) == ["0.0 answer 2", "0.1 answer 1", "0.2 answer 2"]
    assert len({asked.seed for asked in model.asked}) == 3


async def test_when_one_of_several_calls_cannot_be_made_the_others_are_not_left_running(tmp_path: Path) -> None:
    def gone(asked: Request) -> Response:
        if asked_text(asked) == "bad":
            raise MissingDataError("the file has gone")
        return reply("fine")

    def program() -> Program[None]:
        yield from ask_all([Call("model", request(text)) for text in ("bad", "good")])

    async with brokered(tmp_path, model=Toy(answers=gone)) as broker:
        with pytest.raises(MissingDataError, match="the file has gone"):
            await broker.run(program(), scope())
        assert len(asyncio.all_tasks()) == 1 + 1  # this test, and what limits its time


async def test_an_answer_beside_a_call_that_cannot_be_made_is_kept(tmp_path: Path) -> None:
    def refused(asked: Request) -> Response:
        return Response.failed("auth", "no") if asked_text(asked) == "bad" else reply("fine")

    async def slowly(self: Toy, asked: Request) -> Response:
        await asyncio.sleep(0.0 if asked_text(asked) == "bad" else 0.02)
        return refused(asked)

    def program() -> Program[None]:
        yield from ask_all([Call("model", request(text)) for text in ("bad", "good")])

    model = type("Slow", (Toy,), {"generate": slowly})()
    async with brokered(tmp_path, model=model) as broker:
        with pytest.raises(KeyRefusedError):
            await broker.run(program(), scope())
        assert len(broker.journal) == 1


async def test_an_agent_asks_other_roles_and_its_answer_counts_as_one_exchange(tmp_path: Path) -> None:
    helper = Toy()
    async with brokered(tmp_path, model=ToyAgent(), helper=helper) as broker:
        asked = scope()
        assert await broker.run(asks("question 1"), asked) == ["better: draft: answer 1"]
    assert texts(helper) == ["draft: question 1", "better: draft: answer 1"]
    assert [(e.path, e.role) for e in asked.exchanges] == [("0", "model")]


async def test_an_agent_asked_again_draws_anew(tmp_path: Path) -> None:
    helper = Toy(answers=lambda asked: reply(str(asked.seed)))
    async with brokered(tmp_path, model=ToyAgent(), helper=helper) as broker:
        first, again = await broker.run(asks("question 1", "question 1"), scope())
    assert first != again


async def test_an_agent_stopped_half_way_continues_even_for_another_task_that_asks_the_same(tmp_path: Path) -> None:
    stuck = Toy(answers=lambda r: reply("draft") if "draft:" in asked_text(r) else Response.failed("server", "no"))
    async with brokered(tmp_path, model=ToyAgent(), helper=stuck) as broker:
        with pytest.raises(Exception, match="server: no"):
            await broker.run(asks("question 1"), scope("a"))
    helper = Toy()
    async with brokered(tmp_path, model=ToyAgent(), helper=helper) as broker:
        assert await broker.run(asks("question 1"), scope("b")) == ["better: draft"]
    assert texts(helper) == ["better: draft"]


async def test_an_agents_answer_is_replayed_without_its_helpers(tmp_path: Path) -> None:
    for helper in (Toy(), Toy()):
        async with brokered(tmp_path, model=ToyAgent(), helper=helper) as broker:
            await broker.run(asks("question 1"), scope())
    assert helper.asked == []


async def test_roles_that_share_a_backend_close_it_once(tmp_path: Path) -> None:
    shared = Toy()
    async with brokered(tmp_path, model=shared) as broker:
        broker.roles["judge"] = broker.roles["model"]
    assert shared.closed == 1


async def test_a_placeholder_that_was_only_thought_of_gets_no_medium(tmp_path: Path) -> None:
    model = Toy(answers=lambda _: reply("<think>I draw <image1></think>Here: <image1>", picture(3)))
    async with brokered(tmp_path, model=model) as broker:
        journey = scope()
        await broker.run(asks("draw"), journey)
    output = journey.exchanges[0].response.output
    assert output is not None
    assert [(part.kind, part.media is not None) for part in output.parts] == [
        ("reasoning", False),
        ("text", False),
        ("image", True),
    ]
    assert output.text == "Here: <image1>"


async def test_an_answer_from_the_sample_follows_the_sample_and_the_prompt(tmp_path: Path) -> None:
    first, edited = sample(answer="one"), sample(answer="two")
    asked = [(first, "question"), (edited, "question"), (edited, "another question")]
    for given, text in asked:
        async with brokered(tmp_path, model=ReferenceBackend()) as broker:
            journey = Scope("toy", given)
            await broker.run(asks(text), journey)
            assert [exchange.response.text for exchange in journey.exchanges] == [given.references[0].text]


# --- what is acceptable ------------------------------------------------------------------------------------------


def wants_yes(response: Response) -> str:
    return "" if response.text == "yes" else "neither yes nor no"


def judged(count: int = 1) -> Program[list[str]]:
    """The same question, some times over; the answers, or the failures in their own words."""
    call = Call("judge", request("met?"), accept=wants_yes)
    replies = yield from ask_all([call] * count)
    return [reply.text if reply.ok else str(reply.response.error) for reply in replies]


def saying(*words: str) -> Toy:
    """Says one after the other, the last one for ever."""
    left = list(words)
    return Toy(answers=lambda _: reply(left.pop(0) if len(left) > 1 else left[0]))


def by_content(task: str = "t", id: str = "s0", repeat: int = 0) -> Scope:
    return scope(task, id, repeat, part="score/x", share=False, by_content=True)


async def test_a_reply_that_is_not_acceptable_is_asked_again_with_another_seed(tmp_path: Path) -> None:
    judge = saying("perhaps", "yes")
    async with brokered(tmp_path, judge=judge) as broker:
        assert await broker.run(judged(), by_content()) == ["yes"]
    assert len({asked.seed for asked in judge.asked}) == 2


async def test_after_three_tries_the_call_has_failed_with_the_fault_and_what_was_said(tmp_path: Path) -> None:
    judge = saying("perhaps " * 100)
    async with brokered(tmp_path, judge=judge) as broker:
        (said,) = await broker.run(judged(), by_content())
    assert len(judge.asked) == JUDGE_TRIES == 3
    assert "neither yes nor no; the reply was 'perhaps perhaps" in said
    assert len(said) < 500


async def test_a_reply_whose_check_breaks_is_refused_and_kept(tmp_path: Path) -> None:
    def broken(_: Response) -> str:
        raise KeyError("met")

    def asked() -> Program[str]:
        answer = yield from ask_one(Call("judge", request("met?"), accept=broken))
        return str(answer.response.error)

    async with brokered(tmp_path, judge=saying("yes")) as broker:
        assert "it cannot be checked (KeyError: 'met'); the reply was 'yes'" in await broker.run(asked(), by_content())
    (segment,) = tmp_path.glob("journal/*.jsonl")
    assert len(segment.read_text().splitlines()) == JUDGE_TRIES


async def test_a_reply_that_was_refused_is_kept_with_its_cost_and_never_answers_later(tmp_path: Path) -> None:
    costly = Toy(answers=lambda _: replace(reply("perhaps"), usage=Usage(7, 3), served="j-1"))
    async with brokered(tmp_path, judge=costly) as broker:
        await broker.run(judged(), by_content())
    (segment,) = tmp_path.glob("journal/*.jsonl")
    kept = [json.loads(line)["failed"] for line in segment.read_text().splitlines()]
    async with brokered(tmp_path, judge=saying("yes")) as broker:
        assert await broker.run(judged(), by_content()) == ["yes"]
    assert [(row["error"]["kind"], row["usage"], row["served"]) for row in kept] == [("bad_reply", [7, 3], "j-1")] * 3


async def test_a_later_process_draws_anew_and_not_again_what_was_refused(tmp_path: Path) -> None:
    seeds = []
    for judge in (saying("perhaps"), saying("perhaps", "yes")):
        async with brokered(tmp_path, judge=judge) as broker:
            await broker.run(judged(), by_content())
        seeds += [asked.seed for asked in judge.asked]
    assert len(seeds) == len(set(seeds)) == JUDGE_TRIES + 2


async def test_an_agent_whose_verdict_was_refused_judges_again(tmp_path: Path) -> None:
    async with brokered(tmp_path, judge=ToyAgent(), helper=saying("perhaps")) as broker:
        (lost,) = await broker.run(judged(), by_content())
    async with brokered(tmp_path, judge=ToyAgent(), helper=saying("yes")) as broker:
        (given,) = await broker.run(judged(), by_content())
    assert "neither yes nor no" in lost
    assert given == "yes"


async def test_a_call_that_fails_on_its_way_is_not_asked_again_for_its_words(tmp_path: Path) -> None:
    judge = failing("bad_reply", "bad_reply", "bad_reply", "bad_reply", "bad_reply")
    async with brokered(tmp_path, retries=1, judge=judge) as broker:
        await broker.run(judged(), by_content())
    assert len(judge.asked) == 2


async def test_a_refused_reply_is_not_kept_for_other_runs(tmp_path: Path) -> None:
    asked = []
    for run in ("first", "second", "third"):
        judge = saying("perhaps", "yes") if run == "first" else saying("yes")
        async with brokered(tmp_path / run, judge=judge) as broker:
            broker._cache = ResponseCache(tmp_path / "cache")
            assert await broker.run(judged(), by_content()) == ["yes"]
        asked.append(len(judge.asked))
    assert asked == [2, 1, 0], "the second run asks again what the first one refused, the third finds its answer"


# --- verdicts, shared by content -----------------------------------------------------------------------------------


async def test_equal_questions_of_samples_repeats_and_tasks_are_asked_once(tmp_path: Path) -> None:
    judge = saying("yes")
    async with brokered(tmp_path, judge=judge) as broker:
        scopes = [by_content(), by_content(id="s1"), by_content(repeat=3), by_content("other")]
        assert await asyncio.gather(*(broker.run(judged(), one) for one in scopes)) == [["yes"]] * 4
    assert len(judge.asked) == 1


async def test_every_step_is_shared_and_not_the_first_alone(tmp_path: Path) -> None:
    judge = Toy()
    async with brokered(tmp_path, judge=judge) as broker:
        for text in ("question 1", "question 3"):
            await broker.run(asks(text, "question 2", role="judge"), by_content(id=text))
    assert texts(judge) == ["question 1", "question 2", "question 3"]


async def test_repeats_of_a_verdict_are_drawn_each_for_itself_and_shared_one_by_one(tmp_path: Path) -> None:
    judge = saying("yes")
    async with brokered(tmp_path, judge=judge) as broker:
        for id, count in (("s0", 2), ("s1", 3), ("s2", 1)):
            assert await broker.run(judged(count), by_content(id=id)) == ["yes"] * count
    assert len({asked.seed for asked in judge.asked}) == len(judge.asked) == 3


async def test_an_agents_verdict_does_not_tell_whose_repeat_asked(tmp_path: Path) -> None:
    seeds = []
    for repeat in (0, 3):
        helper = saying("yes")
        async with brokered(tmp_path / str(repeat), judge=ToyAgent(), helper=helper) as broker:
            await broker.run(asks("question 1", role="judge"), by_content(repeat=repeat))
        seeds.append([asked.seed for asked in helper.asked])
    assert seeds[0] == seeds[1]


async def test_another_judge_gives_verdicts_of_its_own(tmp_path: Path) -> None:
    for judge in (first := saying("yes"), second := Toy(model="toy-2", answers=lambda _: reply("yes"))):
        async with brokered(tmp_path, judge=judge) as broker:
            await broker.run(judged(), by_content())
    assert (len(first.asked), len(second.asked)) == (1, 1)


# --- what workers have written -----------------------------------------------------------------------------------


def left_by_a_worker(broker: Broker, folder: Path, question: str, answer: str) -> None:
    """An answer that a worker has written, and that its process was killed before looking at."""
    asked = Call("model", request(question))
    key = broker.key_of(asked, scope(), "0", shared=True)
    segment = Segment(folder / "journal", MediaStore(folder / "media"))
    segment.keep(raw_head(Ticket("t", key), asked.request), reply(answer))
    segment.close()


async def test_what_the_last_process_had_no_time_to_look_at_is_looked_at_by_this_one(tmp_path: Path) -> None:
    model = Toy()
    async with brokered(tmp_path, model=model) as broker:
        left_by_a_worker(broker, tmp_path, "question 1", "<think>hm</think>answer 1")
        left_by_a_worker(broker, tmp_path, "question 2", "answer 2")
    for _ in range(2):
        async with brokered(tmp_path, model=model) as broker:
            at = scope()
            assert await broker.run(asks("question 1", "question 2"), at) == ["answer 1", "answer 2"]
            assert at.replayed >= 1
    assert texts(model) == ["question 2"], "only a first question is found by its content"


async def test_a_reply_of_the_last_process_that_is_not_acceptable_is_the_first_of_those_that_are_drawn(
    tmp_path: Path,
) -> None:
    model = Toy(answers=lambda asked: reply("yes"))
    async with brokered(tmp_path, model=model) as broker:
        left_by_a_worker(broker, tmp_path, "met?", "perhaps")

    def program() -> Program[str]:
        call = Call("model", request("met?"), accept=lambda response: "" if response.text == "yes" else "not yes")
        return (yield from ask_one(call)).text

    for _ in range(2):
        async with brokered(tmp_path, model=model) as broker:
            assert await broker.run(program(), scope()) == "yes"
    drawn = call_seed(0, request("met?").digest, 0, 0, 0, 1)
    assert [asked.seed for asked in model.asked] == [drawn]


async def test_an_answer_that_has_just_come_is_left_to_whoever_asked_for_it(tmp_path: Path) -> None:
    async with brokered(tmp_path, model=Toy(delay=0.05)) as broker:
        first = asyncio.create_task(broker.run(asks("question 1"), scope("a")))
        await asyncio.sleep(0.01)
        asked = Call("model", request("question 1"))
        ticket = Ticket("t", broker.key_of(asked, scope(), "0", shared=True))
        segment = Segment(tmp_path / "journal", MediaStore(tmp_path / "media"))
        raw = segment.keep(raw_head(ticket, asked.request), reply("<think>hm</think>raw"))
        broker.journal.adopt(ticket, asked.request.digest, segment.path, raw)
        second = await broker.run(asks("question 1"), scope("b"))
    assert (await first, second) == (["answer 1"], ["answer 1"])
