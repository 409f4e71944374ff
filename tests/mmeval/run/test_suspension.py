from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import EXIT_INCOMPLETE, EXIT_MISSING, EXIT_OK, BackendDownError, KeyRefusedError
from mmeval.metric.bound import bind
from mmeval.metric.contract import TRUST, load_metric
from mmeval.records.score import Result
from mmeval.run.options import BackendSpec
from mmeval.run.suspension import Suspension, score_command
from mmeval.settings import values
from mmeval.task.task import Task
from tests.support.toy import task, toy_verdict

DOWN = BackendDownError("nobody is there", "bring the backend up")
REFUSED = KeyRefusedError("HTTP 401", "fix the key")


def judged(**params: Any) -> Task:
    plain = task("t")
    bound = replace(bind(toy_verdict), params={**bind(toy_verdict).params, **params})
    return replace(plain, metrics=(*plain.metrics, replace(plain.metrics[0], bound=bound)))


def suspended(*losses: Any) -> Suspension:
    made = Suspension()
    for lost in losses:
        made.add("t", bind(toy_verdict), lost)
    return made


@pytest.mark.parametrize(
    ("losses", "otherwise", "code"),
    [
        ((), EXIT_OK, EXIT_OK),
        ((), EXIT_INCOMPLETE, EXIT_INCOMPLETE),
        ((DOWN,), EXIT_OK, EXIT_INCOMPLETE),
        ((REFUSED,), EXIT_OK, EXIT_MISSING),
        ((DOWN, REFUSED), EXIT_INCOMPLETE, EXIT_MISSING),
    ],
    ids=["nothing lost", "only samples lost", "a judge gone", "a key refused", "both"],
)
def test_the_exit_code_says_that_scoring_was_suspended_whatever_is_tolerated(
    losses: tuple[Any, ...], otherwise: int, code: int
) -> None:
    assert suspended(*losses).exit_code(otherwise) == code


def test_a_loss_is_told_once_however_many_metrics_it_suspends() -> None:
    made = Suspension()
    exact = bind(load_metric("exact_match"))
    assert (made.add("t", bind(toy_verdict), DOWN), made.add("u", exact, DOWN)) == (True, False)
    assert (made.covers("t", bind(toy_verdict)), made.covers("t", exact), made.covers("u", exact)) == (
        True,
        False,
        True,
    )


def test_the_complaint_counts_the_trials_that_lack_a_verdict_and_names_the_way_out() -> None:
    results = [
        Result("t", "toy_verdict", None, 10, 4, unscored=6, suspended=True),
        Result("t", "other_verdict", None, 10, 3, unscored=7, suspended=True),
        Result("t", "toy_verdict", None, 5, 2, unscored=3, suspended=True, slice="level=easy"),
        Result("t", "exact_match", 0.5, 10, 8, unscored=2),
    ]
    assert list(suspended(DOWN).complaints(results, "run mmeval score RUN")) == [
        "scoring by toy_verdict was suspended: nobody is there. 7 trials lack a verdict, what was judged is kept: "
        "bring the backend up, then run mmeval score RUN"
    ]


@pytest.mark.parametrize(
    "args",
    [
        {"model": "j", "base_url": "http://127.0.0.1:8000/v1"},
        {"model": "a judge, and a good one", "max_connections": 4, "timeout": 0.5, "send_seed": False},
        {"model": "1234567", "revision": "true", "organization": ""},
        {"model": "it's", "inputs": ["text", "image"], "more": {"a": 1}},
        {},
    ],
    ids=["plain", "blanks and numbers", "texts that look like something else", "quotes and lists", "none"],
)
def test_the_command_names_the_judge_so_that_it_is_read_back_as_it_was(args: dict[str, Any]) -> None:
    words = shlex.split(score_command(Path("my runs/m"), [judged()], {"judge": BackendSpec("openai", args)}))
    assert words[:4] == ["mmeval", "score", "my runs/m", "--role"]
    assert values.roles([words[4]]) == {"judge": ("openai", args)}


def test_the_command_hides_secrets_and_leaves_out_roles_that_no_metric_asks() -> None:
    roles = {"judge": BackendSpec("mine", {"api_key": "sk-123456", "model": "j"}), "helper": BackendSpec("toy")}
    command = score_command(Path("runs"), [judged()], roles)
    assert shlex.split(command) == ["mmeval", "score", "runs", "--role", "judge=mine,api_key='***',model=j"]


def test_the_command_names_every_role_where_an_agent_judges() -> None:
    roles = {"judge": BackendSpec("toy_agent"), "helper": BackendSpec("toy")}
    command = score_command(Path("runs"), [judged()], roles, agents=("judge",))
    assert shlex.split(command) == ["mmeval", "score", "runs", "--role", "judge=toy_agent", "--role", "helper=toy"]


def test_the_command_names_of_the_recorded_roles_those_alone_whose_secret_is_not_kept() -> None:
    plain, secret = BackendSpec("toy", {"model": "j"}), BackendSpec("toy", {"api_key": "sk-123456"})
    assert score_command(Path("runs"), [judged()], {"judge": plain}, recorded=("judge",)) == "mmeval score runs"
    assert "api_key" in score_command(Path("runs"), [judged()], {"judge": secret}, recorded=("judge",))


def test_the_command_gives_consent_again_where_the_run_gave_it() -> None:
    assert score_command(Path("runs"), [judged(**{TRUST: True})], {}) == f"mmeval score runs --{TRUST}"
