from __future__ import annotations

import json
import re
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
from mmeval.run.backends import Backends
from mmeval.run.options import BackendSpec, RunCounts, RunOptions
from mmeval.run.outcome import exit_code
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


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


def values(outcome: Any) -> dict[str, float | None]:
    return {result.task: result.value for result in (*outcome.results, *outcome.group_results)}


def judged(rows: int = 3, **more: Any) -> Task:
    return task("judged", rows, metrics=("toy_verdict",), **more)


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("scores.jsonl"))}


def test_a_run_asks_scores_and_ends_with_zero(tmp_path: Path) -> None:
    outcome = run_toy(tmp_path, task(rows=3))
    assert (values(outcome), outcome.exit_code, outcome.complaints) == ({"toy": 1.0}, EXIT_OK, ())
    assert (outcome.counts.new, outcome.counts.kept) == (3, 0)
    assert asked_in(tmp_path) == ["question 0", "question 1", "question 2"]


def test_the_same_run_again_asks_nothing_and_scores_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_toy(tmp_path, task(rows=3))
    before = files(tmp_path)
    outcome = run_toy(tmp_path, task(rows=3))
    assert (len(asked_in(tmp_path)), outcome.counts.kept, outcome.counts.new) == (3, 3, 0)
    assert (values(outcome), files(tmp_path)) == ({"toy": 1.0}, before)
    first, again = capsys.readouterr().err.splitlines()
    assert first == "asking 3 answers"
    assert again.startswith(f"kept 3 answers from {outcome.counts.since[:4]}")
    assert again.endswith("nothing new to ask")


def test_a_larger_limit_and_more_tasks_ask_only_what_is_new(tmp_path: Path) -> None:
    run_toy(tmp_path, task("a", 4), limit=2)
    outcome = run_toy(tmp_path, task("a", 4), task("b", [sample("z", "question 9", "answer 9")]))
    assert asked_in(tmp_path) == [f"question {i}" for i in (0, 1, 2, 3, 9)]
    assert (outcome.counts.kept, outcome.counts.new, values(outcome)) == (2, 3, {"a": 1.0, "b": 1.0})


def test_a_smaller_limit_reports_only_its_own_samples(tmp_path: Path) -> None:
    run_toy(tmp_path, task(rows=4))
    assert run_toy(tmp_path, task(rows=4), limit=2).results[0].n == 2


def test_two_tasks_that_ask_the_same_share_the_answers_and_score_them_each(tmp_path: Path) -> None:
    outcome = run_toy(tmp_path, task("a", 2), task("b", 3, metrics=("toy_yes",), switches={"word": "2"}))
    assert asked_in(tmp_path) == ["question 0", "question 1", "question 2"]
    assert values(outcome) == {"a": 1.0, "b": pytest.approx(1 / 3)}


def test_repeats_are_trials_of_their_own_in_one_cluster(tmp_path: Path) -> None:
    (result,) = run_toy(tmp_path, task(rows=2, repeats=3)).results
    assert (result.n, len(asked_in(tmp_path))) == (6, 6)


def test_an_episode_carries_its_answers_and_is_scored_whole(tmp_path: Path) -> None:
    said = "question 0" + "".join(f"turn {i}" for i in range(3))
    outcome = run_toy(tmp_path, task(rows=[sample(answer=said.removeprefix("question 0"))], protocol=three_turns))
    assert asked_in(tmp_path) == ["turn 0", "turn 1", "turn 2"]
    assert values(outcome) == {"toy": 1.0}


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
    assert "1 trial failed (server 1); the same command asks them again" in first.complaints
    mend_model(tmp_path)
    second = run_toy(tmp_path, task(rows=3))
    assert (second.counts.kept, second.counts.new, second.exit_code) == (2, 1, EXIT_OK)
    assert asked_in(tmp_path) == ["question 0", "question 1", "question 1", "question 2"]


TORN = Sample("s1", (), metadata={"level": "hard"}, fault="test.jsonl: row 2: torn")


def test_a_sample_that_cannot_be_asked_has_failed_and_costs_no_call(tmp_path: Path) -> None:
    def prompt(row: Sample) -> Any:
        return (row.input[0],)  # which it has not

    rows = [sample("s0"), TORN]
    outcome = run_toy(tmp_path, replace(task(rows=rows, repeats=3, missing_output=0.0), prompt=prompt))
    assert (outcome.counts.new, outcome.counts.failed, outcome.exit_code) == (3, 3, EXIT_INCOMPLETE)
    assert (outcome.results[0].value, outcome.results[0].bounds) == (1.0, pytest.approx((0.5, 1.0)))
    assert outcome.complaints[0].startswith("1 sample (3 trials) cannot be asked (bad_sample); correct the data, then ")
    assert asked_in(tmp_path) == ["question 0"] * 3
    assert run_toy(tmp_path, task(rows=rows, repeats=3), max_unscored=3).exit_code == EXIT_OK


def test_a_mended_sample_is_asked_and_judged_and_everything_else_is_kept(tmp_path: Path) -> None:
    log = {"judge": BackendSpec("toy", {"log": str(tmp_path / "verdicts")})}
    whole = samples(3)
    codes = [
        run_toy(tmp_path, task(rows=rows, metrics=("toy_verdict",)), roles=log).exit_code
        for rows in ([whole[0], TORN, whole[2]], whole, [whole[0], TORN, whole[2]])
    ]
    assert codes == [EXIT_INCOMPLETE, EXIT_OK, EXIT_INCOMPLETE]
    assert asked_in(tmp_path) == ["question 0", "question 1", "question 2"]
    assert len((tmp_path / "verdicts").read_text().splitlines()) == 3


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
    assert outcome.complaints == ("1 trial not asked: the model takes no image",)


def test_one_broken_prompt_costs_one_trial(tmp_path: Path) -> None:
    def prompt(row: Sample) -> Any:
        return row.input if row.id != "s1" else 1 / 0

    outcome = run_toy(tmp_path, replace(task(rows=3), prompt=prompt))
    assert (outcome.counts.new, outcome.counts.failed, outcome.results[0].failed) == (2, 1, 1)
    assert "the first internal failure: ZeroDivisionError: division by zero" in outcome.complaints


def test_a_backend_that_is_gone_stops_the_run_and_what_was_answered_is_kept(tmp_path: Path) -> None:
    run_toy(tmp_path, task(rows=80), limit=5)
    break_model(tmp_path, kind="connection")
    with pytest.raises(BackendDownError, match="What was answered is kept"):
        run_toy(tmp_path, task(rows=80), max_connections=1)
    mend_model(tmp_path)
    assert run_toy(tmp_path, task(rows=80)).counts.kept == 5


@pytest.mark.parametrize(
    ("failed", "unscored", "tolerated", "code"),
    [
        (0, 0, 0, EXIT_OK),
        (1, 0, 0, EXIT_INCOMPLETE),
        (0, 1, 0, EXIT_INCOMPLETE),
        (1, 1, 2, EXIT_OK),
        (2, 1, 2, EXIT_INCOMPLETE),
        (2, 0, 0.1, EXIT_OK),
        (3, 0, 0.1, EXIT_INCOMPLETE),
        (0, 20, 0.999, EXIT_INCOMPLETE),
    ],
)
def test_the_exit_code_says_whether_more_was_lost_than_tolerated(
    failed: int, unscored: int, tolerated: float, code: int
) -> None:
    assert exit_code(RunCounts(new=20 - failed, failed=failed, unscored=unscored), tolerated) == code


@pytest.mark.parametrize("percent", range(1, 100))
def test_a_share_tolerates_just_so_many_of_a_hundred(percent: int) -> None:
    counts = [RunCounts(new=100, unscored=lost) for lost in (percent, percent + 1)]
    assert [exit_code(each, percent / 100) for each in counts] == [EXIT_OK, EXIT_INCOMPLETE]


def test_unscored_answers_are_named_with_the_way_to_score_them(tmp_path: Path) -> None:
    rows = [sample("a", "yes"), sample("b", "raise")]
    outcome = run_toy(tmp_path, task(rows=rows, metrics=("toy_yes",)))
    assert (outcome.exit_code, outcome.counts.unscored, outcome.results[0].value) == (EXIT_INCOMPLETE, 1, 1.0)
    assert outcome.complaints[0].startswith("toy: 1 of 2 unscored by toy_yes (ValueError: no such luck (toy.py:")
    assert "the reasons are in " in outcome.complaints[0]
    assert run_toy(tmp_path, task(rows=rows, metrics=("toy_yes",)), max_unscored=0.5).exit_code == EXIT_OK


def test_numbers_that_lack_trials_for_one_cause_are_told_in_one_line(tmp_path: Path) -> None:
    rows = [sample("a", "yes"), sample("b", "raise")]
    first, second = (replace(task(rows=rows, metrics=("toy_yes",)), name=name) for name in ("first", "second"))
    (said,) = run_toy(tmp_path, first, second).complaints
    assert said.startswith("unscored (ValueError: no such luck (toy.py:")
    assert "first 1 of 2 by toy_yes; second 1 of 2 by toy_yes; the reasons are in " in said
    assert said.count("they stay unscored when they are tried again") == 1


# --- who answers -------------------------------------------------------------------------------------------------


def test_another_model_under_the_same_name_is_refused(tmp_path: Path) -> None:
    run_toy(tmp_path, task(), model_tag="mine")
    with pytest.raises(IdentityChangedError, match=r'model.model "toy-1" -> "toy-2".*--model_tag'):
        run_toy(tmp_path, task(), model_tag="mine", args={"model": "toy-2"})
    run_toy(tmp_path, task(), model_tag="mine", args={"model": "toy-2"}, fresh=True)
    assert len(list((tmp_path / "runs" / "mine").glob("default.*/run.json"))) == 1


def test_another_seed_is_refused_too(tmp_path: Path) -> None:
    run_toy(tmp_path, task())
    with pytest.raises(IdentityChangedError, match="seed 0 -> 1"):
        run_toy(tmp_path, task(), seed=1)


@pytest.mark.parametrize("change", [{"helper": BackendSpec("toy", {"model": "other"})}, {}], ids=["other", "gone"])
def test_an_agent_is_another_one_when_a_role_that_it_asks_is(tmp_path: Path, change: dict[str, BackendSpec]) -> None:
    agent = BackendSpec("toy_agent")
    run_toy(tmp_path, judged(), model=agent, roles={"helper": BackendSpec("toy"), **JUDGE})
    # Who judges is no part of who answers.
    strict = {"judge": BackendSpec("toy", {"model": "toy-strict"})}
    run_toy(tmp_path, judged(), model=agent, roles={"helper": BackendSpec("toy"), **strict})
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
        log = {"judge": BackendSpec("toy", {"log": str(tmp_path / "verdicts")})}
        outcome = run_toy(tmp_path, judged(), roles=log)
    assert (values(outcome), outcome.exit_code) == ({"judged": 1.0}, EXIT_OK)
    assert len((tmp_path / "verdicts").read_text().splitlines()) == 3


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


def test_the_model_is_said_to_be_done_only_when_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge = {"judge": BackendSpec("toy", {"delay": 0.02, "max_connections": 1})}
    with pytest.raises(BudgetSpentError):
        run_toy(tmp_path, judged(rows=30), roles=judge, max_connections=2, budget_calls=12)
    assert "the model is done" not in capsys.readouterr().err
    run_toy(tmp_path, judged(rows=30), roles=judge, max_connections=2)
    assert "the model is done; " in capsys.readouterr().err


def test_what_several_tasks_have_put_off_is_judged_after_the_model_is_done(tmp_path: Path) -> None:
    tasks = [task(name, 20, metrics=("toy_verdict",)) for name in ("one", "other")]
    judge = {"judge": BackendSpec("toy", {"delay": 0.02, "max_connections": 1})}
    outcome = run_toy(tmp_path, *tasks, roles=judge, max_connections=2)
    assert [(result.scored, result.value) for result in outcome.results] == [(20, 1.0), (20, 1.0)]


def test_another_judge_gives_verdicts_of_its_own_and_the_model_is_not_asked(tmp_path: Path) -> None:
    first = run_toy(tmp_path, judged(), roles=JUDGE)
    second = run_toy(tmp_path, judged(), roles={"judge": BackendSpec("toy", {"model": "toy-strict"})})
    assert (values(first), values(second)) == ({"judged": 1.0}, {"judged": 0.0})
    assert len(asked_in(tmp_path)) == 3
    assert first.score_sets["judged"] != second.score_sets["judged"]


def test_other_parameters_of_the_judge_give_verdicts_of_their_own(tmp_path: Path) -> None:
    first = run_toy(tmp_path, judged(), roles=JUDGE)
    second = run_toy(tmp_path, judged(roles={"judge": GenerationParams(temperature=0.7)}), roles=JUDGE)
    assert (second.exit_code, values(second)) == (EXIT_OK, {"judged": 1.0})
    assert first.score_sets["judged"] != second.score_sets["judged"]


def test_lost_verdicts_are_unscored_and_asked_again(tmp_path: Path) -> None:
    judge = {"judge": BackendSpec("toy", {"broken": str(tmp_path / "away")})}
    (tmp_path / "away").write_text("answer 1\nserver\n")
    first = run_toy(tmp_path, judged(), roles=judge)
    assert (first.exit_code, first.counts.unscored, first.results[0].scored) == (EXIT_INCOMPLETE, 1, 2)
    (tmp_path / "away").unlink()
    second = run_toy(tmp_path, judged(), roles=judge)
    assert (second.exit_code, second.results[0].scored, len(asked_in(tmp_path))) == (EXIT_OK, 3, 3)


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
    assert any("is damaged and was left out; what it answered is asked again" in said for said in caplog.messages)


def test_an_answer_that_was_lost_is_judged_anew_and_its_neighbours_keep_their_verdicts(tmp_path: Path) -> None:
    judge = {"judge": BackendSpec("toy", {"log": str(tmp_path / "verdicts")})}
    run_toy(tmp_path, judged(), roles=judge)
    damage(tmp_path, "answer 1")
    outcome = run_toy(tmp_path, judged(), roles=judge, args={"wording": "{} anew"})
    assert (values(outcome), outcome.exit_code) == ({"judged": 1.0}, EXIT_OK)
    verdicts = [line.split("|")[0] for line in (tmp_path / "verdicts").read_text().splitlines()]
    assert sorted(verdicts) == ["answer 0 met?", "answer 1 anew met?", "answer 1 met?", "answer 2 met?"]


def test_a_lost_verdict_alone_is_asked_again(tmp_path: Path) -> None:
    judge = {"judge": BackendSpec("toy", {"log": str(tmp_path / "verdicts")})}
    outcome = run_toy(tmp_path, judged(), roles=judge)
    damage(tmp_path, "judged/s1/0/score")
    (outcome.score_sets["judged"] / "scores.jsonl").unlink()
    assert values(run_toy(tmp_path, judged(), roles=judge)) == {"judged": 1.0}
    assert (len(asked_in(tmp_path)), len((tmp_path / "verdicts").read_text().splitlines())) == (3, 4)


def test_a_turn_that_asks_something_else_stops_the_run_when_nothing_is_lost(tmp_path: Path) -> None:
    def changed(ask: Any) -> Any:
        yield from ask_one(ask.call((*ask.messages, user("turn 0"))))
        return (yield from ask_one(ask.call((*ask.messages, user("another turn"))))).require()

    run_toy(tmp_path, task(rows=1, protocol=three_turns))
    with pytest.raises(ReplayMismatchError, match="step 1 of toy/s0/0 now asks something else"):
        run_toy(tmp_path, task(rows=1, protocol=changed))


# --- what a score is tied to -------------------------------------------------------------------------------------


def test_another_answer_under_the_same_question_is_scored_anew(tmp_path: Path) -> None:
    assert values(run_toy(tmp_path, task(rows=2))) == {"toy": 1.0}
    damage(tmp_path, "answer 1")
    assert values(run_toy(tmp_path, task(rows=2), args={"wording": "{} anew"})) == {"toy": 0.5}


def test_another_choice_of_turns_is_scored_anew_and_nothing_is_asked(tmp_path: Path) -> None:
    story = Sample("s", (user("question 0"), user("question 1")), (Interleaved.from_text("answer 1"),))
    for answer, value in (("all", 0.0), ("last", 1.0), ("all", 0.0)):
        outcome = run_toy(tmp_path, task(rows=[story], protocol=partial(episode, answer=answer)))
        assert values(outcome) == {"toy": value}
    assert len(asked_in(tmp_path)) == 2


def test_other_placeholders_are_read_and_scored_anew_and_nothing_is_asked(tmp_path: Path) -> None:
    drawn = Sample("s", (user("question"),), (Interleaved.from_text("<<image1>> answer", {"image1": picture()}),))
    for spelling, value in (("tag", 0.0), ("hash", 1.0), ("tag", 0.0)):
        made = task(rows=[drawn], metrics=("part_order",))
        read = replace(made, config={**made.config, "placeholders": [spelling]})
        outcome = run_toy(tmp_path, read, args={"wording": "#image1# {}"})
        assert values(outcome) == {"toy": value}
    assert len(asked_in(tmp_path)) == 1


# --- what ends a run, and how ------------------------------------------------------------------------------------


def test_a_run_in_which_no_trial_could_be_asked_is_incomplete(tmp_path: Path) -> None:
    outcome = run_toy(tmp_path, replace(task(rows=2), wanted=lambda row: ("audio",)))
    assert (outcome.exit_code, outcome.counts.unsupported, asked_in(tmp_path)) == (EXIT_INCOMPLETE, 2, [])
    assert outcome.complaints == (
        "2 trials not asked: the model gives no audio",
        "none of the 2 trials could be asked, so there is no number: exit code 3",
    )


def test_a_second_sample_of_the_same_id_stops_its_task_before_it_is_asked(tmp_path: Path) -> None:
    twins = [sample("twin"), sample("twin", "question 1")]
    outcome = run_toy(tmp_path, task(rows=twins))
    assert asked_in(tmp_path) == ["question 0"]
    assert outcome.exit_code == UsageError.exit_code
    assert outcome.complaints[0].startswith(
        "the data of toy cannot be read on after 1 trial: toy: sample 1 has the id 'twin' of an earlier one"
    )


def test_answers_shared_within_a_run_are_new_and_those_of_an_earlier_one_are_kept(tmp_path: Path) -> None:
    for kept, new in ((0, 60), (60, 0)):
        counts = run_toy(tmp_path, task("a", 30), task("b", 30), max_connections=1).counts
        assert (counts.kept, counts.new) == (kept, new)


def test_a_batch_may_be_larger_than_the_number_of_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    answer = ToyLocal.generate_batch

    def noting(self: ToyLocal, asked: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        sizes.append(len(asked))
        return answer(self, asked)

    monkeypatch.setattr(ToyLocal, "generate_batch", noting)
    local = BackendSpec("toy_local", {"max_batch_size": 64})
    run_toy(tmp_path, task(rows=200), model=local, batch_size=BatchSize(32), max_connections=4)
    assert (max(sizes), sum(sizes)) == (32, 200)
    assert sizes.count(32) >= 5


# --- folders -----------------------------------------------------------------------------------------------------


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


def test_a_model_without_a_name_is_called_by_its_backend() -> None:
    assert model_name(RunOptions(model=BackendSpec("empty"), output_path=Path())) == "empty"


def test_the_record_tells_how_the_run_was_made(tmp_path: Path) -> None:
    outcome = run_toy(tmp_path, task("a", 1), task("b", 1), command="mmeval --tasks a,b")
    record = json.loads((outcome.folder / "run.json").read_text())
    assert record["identity"]["model"] == {"backend": "toy", "model": "toy-1"}
    assert (sorted(record["tasks"]), record["sessions"][0]["command"]) == (["a", "b"], "mmeval --tasks a,b")
    assert record["sessions"][0]["provenance"]["model"] == {"library": "1"}


def test_with_predict_only_nothing_is_scored_and_a_later_run_scores_without_asking(tmp_path: Path) -> None:
    first = run_toy(tmp_path, task(), predict_only=True)
    assert (first.results, first.exit_code, files(tmp_path)) == ((), EXIT_OK, {})
    assert values(run_toy(tmp_path, task())) == {"toy": 1.0}
    assert len(asked_in(tmp_path)) == 3


def test_an_unavailable_metric_is_said_before_and_refused_when_strict(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toy = task()
    gone = replace(toy, metrics=(replace(toy.metrics[0], unavailable="no weights here"),))
    with pytest.raises(MissingError, match="toy: the metric exact_match is unavailable: no weights here"):
        run_toy(tmp_path, gone, strict=True)
    assert asked_in(tmp_path) == []
    outcome = run_toy(tmp_path, gone)
    assert "no weights here" in caplog.text
    assert (outcome.results[0].unavailable, outcome.results[0].value, outcome.exit_code) == (3, None, EXIT_OK)


def test_a_wrong_index_is_refused_before_the_folder_is_touched(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no index 7"):
        run_toy(tmp_path, task(), samples={"toy": (7,)})
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("given", ["many", 0, True])
def test_a_limit_of_a_role_is_a_whole_number_above_zero(given: object) -> None:
    with pytest.raises(UsageError, match=r"max_connections=.*must be a whole number above 0"):
        Backends({"judge": BackendSpec("empty", {"max_connections": given})})


def test_a_role_may_have_a_limit_of_its_own() -> None:
    specs = {"model": BackendSpec("empty"), "judge": BackendSpec("reference", {"max_connections": 3})}
    runtimes = Backends(specs).runtimes(lambda: 1, limit=64, retries=0)
    assert {role: runtime.limiter.limit for role, runtime in runtimes.items()} == {"model": 64, "judge": 3}


def test_a_role_that_no_task_asks_is_refused_with_those_that_are_asked(tmp_path: Path) -> None:
    judged = task(metrics=("toy_verdict",), roles={"rater": GenerationParams()})
    with pytest.raises(UsageError, match=r'--role jugde: .*did you mean "judge"\? \(they ask judge, rater\)'):
        run_toy(tmp_path, judged, roles={"jugde": BackendSpec("toy")})
    assert asked_in(tmp_path) == []


def test_an_agent_that_judges_with_another_helper_is_another_judge(tmp_path: Path) -> None:
    log = tmp_path / "helped"
    helped, sets = [], set()
    for helper in ("toy-1", "toy-1", "toy-2"):
        roles = {"judge": BackendSpec("toy_agent"), "helper": BackendSpec("toy", {"model": helper, "log": str(log)})}
        sets.add(run_toy(tmp_path, judged(), roles=roles).score_sets["judged"])
        helped.append(len(log.read_text().splitlines()))
    assert (helped, len(sets)) == ([6, 6, 12], 2)


@pytest.mark.parametrize("agent", ["model", "judge"])
def test_where_anybody_is_an_agent_any_role_is_taken(agent: str, tmp_path: Path) -> None:
    backends = {"model": BackendSpec("toy"), "judge": BackendSpec("toy"), agent: BackendSpec("toy_agent")}
    roles = {"judge": backends["judge"], "helper": BackendSpec("toy")}
    made = run_toy(tmp_path, task(metrics=("toy_verdict",)), model=backends["model"], roles=roles)
    assert made.counts.new == 3


def test_kinds_that_the_model_does_not_give_are_told_in_one_line(tmp_path: Path) -> None:
    kinds: tuple[PartKind, ...] = ("text", "image", "audio", "video", "document", "code", "3d")
    toy = replace(task(rows=2), wanted=lambda row: kinds, partial_output=True)
    assert run_toy(tmp_path, toy).complaints == (
        "2 trials asked without audio, video, document or 3d, which the model does not give, and scored on the rest",
    )


def test_a_judge_that_has_work_while_the_model_has_none_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roles = {"judge": BackendSpec("toy", {"delay": 0.2})}
    run_toy(tmp_path, judged(), predict_only=True, roles=roles)
    before = capsys.readouterr().err
    run_toy(tmp_path, judged(), roles=roles)
    assert "judged" not in before
    assert re.search(r"the model is done; .* still to be judged\n", capsys.readouterr().err)


def test_a_disk_that_is_full_is_no_fault_of_the_data(tmp_path: Path) -> None:
    class Full(Rows):
        def __iter__(self) -> Iterator[Sample]:
            yield from samples(1)
            raise StorageError("no space left")

    with pytest.raises(StorageError, match="no space left"):
        run_toy(tmp_path, replace(task(), dataset=lambda: Full(samples(2))))
