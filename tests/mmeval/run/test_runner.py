from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.batch_size import BatchSize
from mmeval.broker import runtime as runtime_module
from mmeval.content.parts import Interleaved, PartKind
from mmeval.costs.budget import BudgetSpentError
from mmeval.errors import (
    EXIT_INCOMPLETE,
    EXIT_OK,
    BackendDownError,
    IdentityChangedError,
    MissingError,
    ReplayMismatchError,
    StorageError,
    UsageError,
)
from mmeval.program.calls import ask_one
from mmeval.program.protocols import episode
from mmeval.records.request import GenerationParams, Request
from mmeval.records.response import Response
from mmeval.records.sample import Sample, user
from mmeval.run.options import BackendSpec, RunOptions
from mmeval.run.runner import model_name, run_path
from mmeval.task.task import Group, GroupMetric, Task
from tests.support.toy import (
    Rows,
    Toy,
    ToyLocal,
    asked_in,
    asked_text,
    break_model,
    damage,
    mend_model,
    picture,
    registered,
    reply,
    run_toy,
    sample,
    samples,
    task,
    three_turns,
)

JUDGE = {"judge": BackendSpec("toy")}
STRICT = {"judge": BackendSpec("toy", {"model": "toy-strict"})}


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


def values(outcome: Any) -> dict[str, float | None]:
    return {result.task: result.value for result in (*outcome.results, *outcome.group_results)}


def judged(rows: Any = 3, **more: Any) -> Task:
    return task("judged", rows, metrics=("toy_verdict",), **more)


def logged(folder: Path) -> dict[str, BackendSpec]:
    """A judge that logs what it is asked; ``verdicts`` reads that."""
    return {"judge": BackendSpec("toy", {"log": str(folder / "verdicts")})}


def verdicts(folder: Path) -> list[str]:
    return sorted(line.split("|")[0] for line in (folder / "verdicts").read_text().splitlines())


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("scores.jsonl"))}


def questions(*numbers: int) -> list[str]:
    return [f"question {i}" for i in numbers]


def test_a_run_asks_and_scores_and_the_same_run_again_asks_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run_toy(tmp_path, task(rows=3))
    assert (values(first), first.exit_code, first.complaints) == ({"toy": 1.0}, EXIT_OK, ())
    assert (first.counts.new, first.counts.kept, asked_in(tmp_path)) == (3, 0, questions(0, 1, 2))
    before = files(tmp_path)
    again = run_toy(tmp_path, task(rows=3))
    assert (len(asked_in(tmp_path)), again.counts.kept, again.counts.new) == (3, 3, 0)
    assert (values(again), files(tmp_path)) == ({"toy": 1.0}, before)
    one, other = capsys.readouterr().err.splitlines()
    assert (one, other.startswith(f"kept 3 answers from {again.counts.since[:4]}")) == ("asking 3 answers", True)


def test_a_larger_limit_and_more_tasks_ask_only_what_is_new(tmp_path: Path) -> None:
    run_toy(tmp_path, task("a", 4), limit=2)
    outcome = run_toy(tmp_path, task("a", 4), task("b", [sample("z", "question 9", "answer 9")]))
    assert asked_in(tmp_path) == questions(0, 1, 2, 3, 9)
    assert (outcome.counts.kept, outcome.counts.new, values(outcome)) == (2, 3, {"a": 1.0, "b": 1.0})
    assert run_toy(tmp_path, task("a", 4), limit=2).results[0].n == 2, "a smaller limit has its own samples alone"


def test_two_tasks_that_ask_the_same_share_the_answers_and_score_them_each(tmp_path: Path) -> None:
    for kept, new in ((0, 5), (5, 0)):
        both = task("a", 2), task("b", 3, metrics=("toy_yes",), switches={"word": "2"})
        outcome = run_toy(tmp_path, *both, max_connections=1)
        assert (asked_in(tmp_path), values(outcome)) == (questions(0, 1, 2), {"a": 1.0, "b": pytest.approx(1 / 3)})
        assert (outcome.counts.kept, outcome.counts.new) == (kept, new)


def test_repeats_are_trials_of_their_own_and_an_episode_is_scored_whole(tmp_path: Path) -> None:
    (result,) = run_toy(tmp_path / "repeats", task(rows=2, repeats=3)).results
    assert (result.n, len(asked_in(tmp_path / "repeats"))) == (6, 6)
    whole = sample(answer="".join(f"turn {i}" for i in range(3)))
    outcome = run_toy(tmp_path, task(rows=[whole], protocol=three_turns))
    assert (asked_in(tmp_path), values(outcome)) == (["turn 0", "turn 1", "turn 2"], {"toy": 1.0})


def test_groups_are_reported_with_their_tasks(tmp_path: Path) -> None:
    group = Group("all", "All", ("a", "b"), (GroupMetric("exact_match"),))
    wrong = task("b", [sample("w", "question 8", "wrong")])
    assert values(run_toy(tmp_path, task("a", 2), wrong, groups=(group,))) == {"a": 1.0, "b": 0.0, "all": 0.5}


# --- what fails --------------------------------------------------------------------------------------------------


def test_failed_trials_are_counted_apart_and_asked_again_by_the_next_run(tmp_path: Path) -> None:
    break_model(tmp_path, "question 1")
    first = run_toy(tmp_path, task(rows=3))
    assert (first.counts.failed, first.exit_code, first.results[0].value) == (1, EXIT_INCOMPLETE, 1.0)
    assert first.results[0].bounds == pytest.approx((2 / 3, 1.0))
    assert any(complaint.startswith("1 trial failed (server 1); ") for complaint in first.complaints)
    mend_model(tmp_path)
    second = run_toy(tmp_path, task(rows=3))
    assert (second.counts.kept, second.counts.new, second.exit_code) == (2, 1, EXIT_OK)
    assert asked_in(tmp_path) == questions(0, 1, 1, 2)


TORN = Sample("s1", (), metadata={"level": "hard"}, fault="row 2: torn")


def test_a_sample_that_cannot_be_asked_has_failed_and_costs_no_call(tmp_path: Path) -> None:
    def prompt(row: Sample) -> Any:
        return (row.input[0],)  # which it has not

    rows = [sample("s0"), TORN]
    outcome = run_toy(tmp_path, replace(task(rows=rows, repeats=3, missing_output=0.0), prompt=prompt))
    assert (outcome.counts.new, outcome.counts.failed, outcome.exit_code) == (3, 3, EXIT_INCOMPLETE)
    assert (outcome.results[0].value, outcome.results[0].bounds) == (1.0, pytest.approx((0.5, 1.0)))
    assert outcome.complaints[0].startswith("1 sample (3 trials) ")
    assert asked_in(tmp_path) == ["question 0"] * 3
    assert run_toy(tmp_path, task(rows=rows, repeats=3), max_unscored=3).exit_code == EXIT_OK


def test_a_mended_sample_is_asked_and_judged_and_everything_else_is_kept(tmp_path: Path) -> None:
    whole = samples(3)
    torn = [whole[0], TORN, whole[2]]
    codes = [run_toy(tmp_path, judged(rows), roles=logged(tmp_path)).exit_code for rows in (torn, whole, torn)]
    assert codes == [EXIT_INCOMPLETE, EXIT_OK, EXIT_INCOMPLETE]
    assert (asked_in(tmp_path), len(verdicts(tmp_path))) == (questions(0, 1, 2), 3)


def test_what_a_tolerant_program_makes_of_a_failure_is_scored_anew_when_the_call_succeeds(tmp_path: Path) -> None:
    def tolerant(ask: Any) -> Any:
        first, second = yield [ask.call([user(text)]) for text in ("answer", "question 0")]
        return (second if second.ok else first).require()

    break_model(tmp_path, "question")
    assert values(run_toy(tmp_path, task(rows=1, protocol=tolerant))) == {"toy": 0.0}
    mend_model(tmp_path)
    assert values(run_toy(tmp_path, task(rows=1, protocol=tolerant))) == {"toy": 1.0}


def test_a_sample_that_the_model_cannot_take_is_neither_failed_nor_zero(tmp_path: Path) -> None:
    shown = Sample("p", (user("question 7", picture()),))
    outcome = run_toy(tmp_path, task(rows=[*samples(2), shown]), args={"takes": "text"})
    (result,) = outcome.results
    assert (result.value, result.unsupported, result.failed, outcome.exit_code) == (1.0, 1, 0, EXIT_OK)
    (complaint,) = outcome.complaints
    assert (complaint[:8], complaint.endswith(" image")) == ("1 trial ", True)


def test_one_broken_prompt_costs_one_trial(tmp_path: Path) -> None:
    def prompt(row: Sample) -> Any:
        return row.input if row.id != "s1" else 1 / 0

    outcome = run_toy(tmp_path, replace(task(rows=3), prompt=prompt))
    assert (outcome.counts.new, outcome.counts.failed, outcome.results[0].failed) == (2, 1, 1)
    assert any("ZeroDivisionError: division by zero" in complaint for complaint in outcome.complaints)


def test_a_backend_that_is_gone_stops_the_run_and_what_was_answered_is_kept(tmp_path: Path) -> None:
    run_toy(tmp_path, task(rows=80), limit=5)
    break_model(tmp_path, kind="connection")
    with pytest.raises(BackendDownError):
        run_toy(tmp_path, task(rows=80), max_connections=1)
    mend_model(tmp_path)
    assert run_toy(tmp_path, task(rows=80)).counts.kept == 5


def test_unscored_answers_are_counted_with_their_reason_once_for_all_tasks(tmp_path: Path) -> None:
    rows = [sample("a", "yes"), sample("b", "raise")]
    toy = task(rows=rows, metrics=("toy_yes",))
    outcome = run_toy(tmp_path, toy)
    assert (outcome.exit_code, outcome.counts.unscored, outcome.results[0].value) == (EXIT_INCOMPLETE, 1, 1.0)
    assert outcome.complaints[0].startswith("toy: 1 of 2 unscored by toy_yes (")
    assert run_toy(tmp_path, toy, max_unscored=0.5).exit_code == EXIT_OK
    (both,) = run_toy(tmp_path, replace(toy, name="first"), replace(toy, name="second")).complaints
    assert ("no such luck (toy.py:" in both, both.count("1 of 2 by toy_yes; ")) == (True, 2)


# --- which backend answers ---------------------------------------------------------------------------------------


def test_another_model_under_the_same_name_and_another_seed_are_refused(tmp_path: Path) -> None:
    run_toy(tmp_path, task(), model_tag="mine")
    with pytest.raises(IdentityChangedError, match=r'"toy-1" -> "toy-2".*--model_tag'):
        run_toy(tmp_path, task(), model_tag="mine", args={"model": "toy-2"})
    with pytest.raises(IdentityChangedError, match="seed 0 -> 1"):
        run_toy(tmp_path, task(), model_tag="mine", seed=1)
    run_toy(tmp_path, task(), model_tag="mine", args={"model": "toy-2"}, fresh=True)
    assert len(list((tmp_path / "runs" / "mine").glob("default.*/run.json"))) == 1


@pytest.mark.parametrize("change", [{"helper": BackendSpec("toy", {"model": "other"})}, {}], ids=["other", "gone"])
def test_an_agent_is_another_one_when_a_role_that_it_asks_is(tmp_path: Path, change: dict[str, BackendSpec]) -> None:
    agent, helper = BackendSpec("toy_agent"), {"helper": BackendSpec("toy")}
    for judge in (JUDGE, STRICT):  # a judge is no part of the model's identity
        run_toy(tmp_path, judged(), model=agent, roles={**helper, **judge})
    with pytest.raises(IdentityChangedError, match=r"roles\.helper"):
        run_toy(tmp_path, judged(), model=agent, roles={**change, **JUDGE})


def test_a_changed_prompt_or_parameter_is_asked_anew(tmp_path: Path) -> None:
    run_toy(tmp_path, task(rows=1))
    run_toy(tmp_path, task(rows=1, params=GenerationParams(temperature=0.5)))
    run_toy(tmp_path, task(rows=[sample(text="question 0!")]))
    assert asked_in(tmp_path) == ["question 0", "question 0", "question 0!"]


def test_answers_kept_in_a_cache_serve_other_runs_of_the_same_model_alone(tmp_path: Path) -> None:
    for run_id, model in (("one", "toy-1"), ("two", "toy-1"), ("three", "toy-2")):
        run_toy(tmp_path, task(rows=2), run_id=run_id, args={"model": model}, use_cache=tmp_path / "cache")
    assert len(asked_in(tmp_path)) == 2 + 2


# --- judges ------------------------------------------------------------------------------------------------------


def test_a_judge_scores_in_the_same_run_and_its_verdicts_are_kept(tmp_path: Path) -> None:
    for _ in range(2):
        outcome = run_toy(tmp_path, judged(), roles=logged(tmp_path))
        assert (values(outcome), outcome.exit_code, len(verdicts(tmp_path))) == ({"judged": 1.0}, EXIT_OK, 3)


def test_a_model_that_judges_itself_is_asked_again_for_a_verdict_after_its_last_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_module, "BACKOFF_BASE", 0.01)

    def busy_at_first(asked: Request) -> Response:
        if "met?" not in asked_text(asked):
            return reply("an answer")
        return reply("yes") if len(model.asked) > 2 else Response.failed("server", "busy")

    model = Toy(answers=busy_at_first)
    itself = BackendSpec("toy", instance=model)
    outcome = run_toy(tmp_path, judged(1), model=itself, roles={"judge": itself}, retry_on_error=1)
    assert (values(outcome), outcome.complaints) == ({"judged": 1.0}, ())


def test_what_several_tasks_have_put_off_is_judged_after_the_model_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Patient(Toy):
        async def generate(self, request: Request) -> Response:
            while "the model is done; " not in errors():
                await asyncio.sleep(0.001)
            return await super().generate(request)

    heard: list[str] = []

    def errors() -> str:
        heard.append(capsys.readouterr().err)
        return "".join(heard)

    tasks = [task(name, 20, metrics=("toy_verdict",)) for name in ("one", "other")]
    with pytest.raises(BudgetSpentError):
        run_toy(tmp_path, *tasks, roles=JUDGE, max_connections=2, budget_calls=12)
    assert "the model is done" not in capsys.readouterr().err
    slow = {"judge": BackendSpec("toy", {"max_connections": 1}, instance=Patient())}
    outcome = run_toy(tmp_path, *tasks, roles=slow, max_connections=2)
    assert [(result.scored, result.value) for result in outcome.results] == [(20, 1.0), (20, 1.0)]


def test_another_judge_or_other_parameters_of_it_give_verdicts_of_their_own(tmp_path: Path) -> None:
    first = run_toy(tmp_path, judged(), roles=JUDGE)
    second = run_toy(tmp_path, judged(), roles=STRICT)
    third = run_toy(tmp_path, judged(roles={"judge": GenerationParams(temperature=0.7)}), roles=JUDGE)
    assert [values(one)["judged"] for one in (first, second, third)] == [1.0, 0.0, 1.0]
    assert (len(asked_in(tmp_path)), third.exit_code) == (3, EXIT_OK)
    assert len({one.score_sets["judged"] for one in (first, second, third)}) == 3


def test_lost_verdicts_are_unscored_and_asked_again(tmp_path: Path) -> None:
    judge = {"judge": BackendSpec("toy", {"broken": str(tmp_path / "away")})}
    (tmp_path / "away").write_text("answer 1\nserver\n")
    first = run_toy(tmp_path, judged(), roles=judge)
    assert (first.exit_code, first.counts.unscored, first.results[0].scored) == (EXIT_INCOMPLETE, 1, 2)
    (tmp_path / "away").unlink()
    second = run_toy(tmp_path, judged(), roles=judge)
    assert (second.exit_code, second.results[0].scored, len(asked_in(tmp_path))) == (EXIT_OK, 3, 3)


def test_a_judge_that_has_work_while_the_model_has_none_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_toy(tmp_path, judged(), predict_only=True, roles=JUDGE)
    assert "judged" not in capsys.readouterr().err
    run_toy(tmp_path, judged(), roles={"judge": BackendSpec("toy", {"delay": 0.2})})
    assert "the model is done; " in capsys.readouterr().err


def test_an_agent_that_judges_with_another_helper_is_another_judge(tmp_path: Path) -> None:
    log = tmp_path / "helped"
    helped, sets = [], set()
    for helper in ("toy-1", "toy-1", "toy-2"):
        roles = {"judge": BackendSpec("toy_agent"), "helper": BackendSpec("toy", {"model": helper, "log": str(log)})}
        sets.add(run_toy(tmp_path, judged(), roles=roles).score_sets["judged"])
        helped.append(len(log.read_text().splitlines()))
    assert (helped, len(sets)) == ([6, 6, 12], 2)


# --- what is lost ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lost", "again"), [("#1@", 2), ("#2@", 1)], ids=["middle", "last"])
def test_a_damaged_line_of_an_episode_costs_it_and_what_followed_from_it(
    tmp_path: Path, lost: str, again: int, caplog: pytest.LogCaptureFixture
) -> None:
    turns = task(rows=2, metrics=("toy_yes",), switches={"word": "anew"}, protocol=three_turns)
    assert values(run_toy(tmp_path, turns)) == {"toy": 0.0}
    damage(tmp_path, f"toy/s0/0{lost}")
    outcome = run_toy(tmp_path, turns, args={"wording": "{} anew"})
    assert (len(asked_in(tmp_path)), values(outcome), outcome.exit_code) == (6 + again, {"toy": 0.5}, EXIT_OK)
    assert any("damaged" in message for message in caplog.messages)


def test_an_answer_that_was_lost_is_scored_and_judged_anew_and_its_neighbours_keep_their_verdicts(
    tmp_path: Path,
) -> None:
    both = task("judged", 3, metrics=("exact_match", "toy_verdict"))
    run_toy(tmp_path, both, roles=logged(tmp_path))
    damage(tmp_path, "answer 1")
    outcome = run_toy(tmp_path, both, roles=logged(tmp_path), args={"wording": "{} anew"})
    found = {result.metric: result.value for result in outcome.results}
    assert (found, outcome.exit_code) == ({"exact_match": pytest.approx(2 / 3), "toy_verdict": 1.0}, EXIT_OK)
    assert verdicts(tmp_path) == [f"answer {one} met?" for one in ("0", "1 anew", "1", "2")]


def test_a_lost_verdict_alone_is_asked_again(tmp_path: Path) -> None:
    outcome = run_toy(tmp_path, judged(), roles=logged(tmp_path))
    damage(tmp_path, "judged/s1/0/score")
    (outcome.score_sets["judged"] / "scores.jsonl").unlink()
    assert values(run_toy(tmp_path, judged(), roles=logged(tmp_path))) == {"judged": 1.0}
    assert (len(asked_in(tmp_path)), len(verdicts(tmp_path))) == (3, 4)


def test_a_turn_that_asks_something_else_stops_the_run_when_nothing_is_lost(tmp_path: Path) -> None:
    def changed(ask: Any) -> Any:
        yield from ask_one(ask.call((*ask.messages, user("turn 0"))))
        return (yield from ask_one(ask.call((*ask.messages, user("another turn"))))).require()

    run_toy(tmp_path, task(rows=1, protocol=three_turns))
    with pytest.raises(ReplayMismatchError, match="step 1 of toy/s0/0 "):
        run_toy(tmp_path, task(rows=1, protocol=changed))


def test_another_choice_of_turns_and_other_placeholders_are_scored_anew_and_nothing_is_asked(tmp_path: Path) -> None:
    story = Sample("s", (user("question 0"), user("question 1")), (Interleaved.from_text("answer 1"),))
    for answer, value in (("all", 0.0), ("last", 1.0), ("all", 0.0)):
        outcome = run_toy(tmp_path, task(rows=[story], protocol=partial(episode, answer=answer)))
        assert values(outcome) == {"toy": value}
    assert len(asked_in(tmp_path)) == 2
    drawn = Sample("s", (user("question"),), (Interleaved.from_text("<<image1>> answer", {"image1": picture()}),))
    for spelling, value in (("tag", 0.0), ("hash", 1.0), ("tag", 0.0)):
        made = task("drawn", rows=[drawn], metrics=("part_order",))
        read = replace(made, config={**made.config, "placeholders": [spelling]})
        assert values(run_toy(tmp_path, read, args={"wording": "#image1# {}"})) == {"drawn": value}
    assert len(asked_in(tmp_path)) == 3


# --- what ends a run, and how ------------------------------------------------------------------------------------


def test_a_run_in_which_no_trial_could_be_asked_is_incomplete(tmp_path: Path) -> None:
    outcome = run_toy(tmp_path, replace(task(rows=2), wanted=lambda row: ("audio",)))
    assert (outcome.exit_code, outcome.counts.unsupported, asked_in(tmp_path)) == (EXIT_INCOMPLETE, 2, [])
    first, second = outcome.complaints
    assert (first[:9], first.endswith(" audio"), "2 trials" in second) == ("2 trials ", True, True)


def test_kinds_that_the_model_does_not_give_are_one_complaint(tmp_path: Path) -> None:
    kinds: tuple[PartKind, ...] = ("text", "image", "audio", "video", "document", "code", "3d")
    toy = replace(task(rows=2), wanted=lambda row: kinds, partial_output=True)
    (complaint,) = run_toy(tmp_path, toy).complaints
    assert (complaint[:9], "audio, video, document or 3d," in complaint) == ("2 trials ", True)


def test_a_second_sample_of_the_same_id_stops_its_task_before_it_is_asked(tmp_path: Path) -> None:
    outcome = run_toy(tmp_path, task(rows=[sample("twin"), sample("twin", "question 1")]))
    assert (asked_in(tmp_path), outcome.exit_code) == (["question 0"], UsageError.exit_code)
    assert "after 1 trial: toy: sample 1 " in outcome.complaints[0]


def test_a_disk_that_is_full_is_no_fault_of_the_data(tmp_path: Path) -> None:
    class Full(Rows):
        def __iter__(self) -> Iterator[Sample]:
            yield from samples(1)
            raise StorageError("no space left")

    with pytest.raises(StorageError, match="no space left"):
        run_toy(tmp_path, replace(task(), dataset=lambda: Full(samples(2))))


def test_a_batch_may_be_larger_than_the_number_of_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    answer = ToyLocal.generate_batch

    def noting(self: ToyLocal, asked: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        sizes.append(len(asked))
        return answer(self, asked)

    monkeypatch.setattr(ToyLocal, "generate_batch", noting)
    local = BackendSpec("toy_local", {"max_batch_size": 64})
    run_toy(tmp_path, task(rows=200), model=local, batch_size=BatchSize(32), max_connections=4)
    assert (max(sizes), sum(sizes), sizes.count(32) >= 5) == (32, 200, True)


def test_an_unavailable_metric_is_a_warning_and_refused_when_strict(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toy = task()
    gone = replace(toy, metrics=(replace(toy.metrics[0], unavailable="no weights here"),))
    with pytest.raises(MissingError, match="no weights here"):
        run_toy(tmp_path, gone, strict=True)
    assert asked_in(tmp_path) == []
    outcome = run_toy(tmp_path, gone)
    assert "no weights here" in caplog.text
    assert (outcome.results[0].unavailable, outcome.results[0].value, outcome.exit_code) == (3, None, EXIT_OK)


# --- roles and folders -------------------------------------------------------------------------------------------


def test_what_is_wrong_is_refused_before_the_folder_is_touched(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no index 7"):
        run_toy(tmp_path, task(), samples={"toy": (7,)})
    rated = task(metrics=("toy_verdict",), roles={"rater": GenerationParams()})
    with pytest.raises(UsageError) as caught:
        run_toy(tmp_path, rated, roles={"jugde": BackendSpec("toy")})
    assert (caught.value.name, caught.value.known) == ("jugde", ("judge", "rater"))
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("agent", ["model", "judge"])
def test_where_one_backend_is_an_agent_any_role_is_taken(agent: str, tmp_path: Path) -> None:
    backends = {"model": BackendSpec("toy"), "judge": BackendSpec("toy"), agent: BackendSpec("toy_agent")}
    roles = {"judge": backends["judge"], "helper": BackendSpec("toy")}
    outcome = run_toy(tmp_path, task(metrics=("toy_verdict",)), model=backends["model"], roles=roles)
    assert outcome.counts.new == 3


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({}, "runs/org__m/default"),
        ({"model_tag": "my tag"}, "runs/my__tag/default"),
        ({"run_id": "night/7"}, "runs/org__m/night__7"),
    ],
    ids=str,
)
def test_a_run_lies_under_its_model_and_its_id(more: dict[str, Any], path: str) -> None:
    options = RunOptions(model=BackendSpec("hf", {"pretrained": "org/m"}), output_path=Path("runs"), **more)
    assert str(run_path(options)) == path
    assert model_name(RunOptions(model=BackendSpec("empty"), output_path=Path())) == "empty"


def test_the_record_holds_how_the_run_was_made(tmp_path: Path) -> None:
    outcome = run_toy(tmp_path, task("a", 1), task("b", 1), command="mmeval --tasks a,b")
    record = json.loads((outcome.folder / "run.json").read_text())
    assert record["identity"]["model"] == {"backend": "toy", "model": "toy-1"}
    assert (sorted(record["tasks"]), record["sessions"][0]["command"]) == (["a", "b"], "mmeval --tasks a,b")
    assert record["sessions"][0]["provenance"]["model"] == {"library": "1"}


def test_with_predict_only_nothing_is_scored_and_a_later_run_scores_without_asking(tmp_path: Path) -> None:
    first = run_toy(tmp_path, task(), predict_only=True)
    assert (first.results, first.exit_code, files(tmp_path)) == ((), EXIT_OK, {})
    assert (values(run_toy(tmp_path, task())), len(asked_in(tmp_path))) == ({"toy": 1.0}, 3)
