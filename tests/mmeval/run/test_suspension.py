import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import BackendDownError, KeyRefusedError
from mmeval.findings.exit_code import exit_code
from mmeval.metric.bound import bind
from mmeval.metric.contract import TRUST, load_metric
from mmeval.records.score import Result
from mmeval.run.options import BackendSpec
from mmeval.run.suspension import Suspension, score_command
from mmeval.settings import values
from mmeval.task.task import Task
from tests.support.toy import cast_agent, task, toy_verdict

DOWN = BackendDownError("nobody is there", "bring the backend up")
REFUSED = KeyRefusedError("HTTP 401", "fix the key")


def judged(**params: Any) -> Task:
    plain = task("t")
    bound = replace(bind(toy_verdict), params={**bind(toy_verdict).params, **params})
    return replace(
        plain, metrics=(*plain.metrics, replace(plain.metrics[0], bound=bound))
    )


def suspended(*losses: Any) -> Suspension:
    made = Suspension()
    for lost in losses:
        made.add("t", bind(toy_verdict), lost)
    return made


@pytest.mark.parametrize(
    ("losses", "code"), [((), 0), ((DOWN,), 3), ((REFUSED,), 4), ((DOWN, REFUSED), 4)]
)
def test_suspended_scoring_has_its_exit_code(
    losses: tuple[Any, ...], code: int
) -> None:
    result = Result("t", "toy_verdict", None, 10, 4, unscored=6, suspended=True)
    assert exit_code(suspended(*losses).findings([result], "")) == code


def test_a_loss_is_new_once_however_many_metrics_it_suspends() -> None:
    made = Suspension()
    verdict = bind(toy_verdict)
    exact = bind(load_metric("exact_match"))
    assert (made.add("t", verdict, DOWN), made.add("u", exact, DOWN)) == (True, False)
    assert [
        made.covers("t", verdict),
        made.covers("t", exact),
        made.covers("u", exact),
    ] == [True, False, True]


def test_a_suspended_number_counts_the_trials_that_lack_a_verdict() -> None:
    lost = Result("t", "toy_verdict", None, 10, 4, unscored=6, suspended=True)
    results = [
        lost,
        replace(lost, n=5, unscored=3, slice="level=easy"),
        Result("t", "exact_match", 0.5, 10, 8, unscored=2),
    ]
    (found,) = suspended(DOWN).findings(results, "mmeval score RUN")
    assert (found.subject.metric, found.count, found.of) == ("toy_verdict", 6, 10)
    assert (found.kind, DOWN.reason in found.cause) == ("suspended", True)
    assert found.remedy == "mmeval score RUN"


@pytest.mark.parametrize(
    "args",
    [
        {
            "model": "a judge, and a good one",
            "max_connections": 4,
            "timeout": 0.5,
            "send_seed": False,
        },
        {"model": "1234567", "revision": "true", "organization": ""},
        {"model": "it's", "inputs": ["text", "image"], "more": {"a": 1}},
        {},
    ],
    ids=["blanks and numbers", "like something else", "quotes and lists", "none"],
)
def test_the_command_names_the_judge_so_that_it_is_read_back_as_it_was(
    args: dict[str, Any],
) -> None:
    words = shlex.split(
        score_command(
            Path("my runs/m"), [judged()], {"judge": BackendSpec("openai", args)}
        )
    )
    assert words[:4] == ["mmeval", "score", "my runs/m", "--role"]
    assert values.roles([words[4]]) == {"judge": ("openai", args)}


TOY = BackendSpec("toy", {"model": "j"})
SECRET = BackendSpec("mine", {"api_key": "sk-123456", "model": "j"})


@pytest.mark.parametrize(
    ("roles", "more", "flags"),
    [
        (
            {"judge": SECRET, "helper": TOY},
            {},
            ["--role", "judge=mine,api_key='***',model=j"],
        ),
        (
            {
                "judge": BackendSpec("toy_agent", instance=cast_agent()),
                "helper": TOY,
                "other": TOY,
            },
            {},
            ["--role", "judge=toy_agent", "--role", "helper=toy,model=j"],
        ),
        ({"judge": TOY}, {"recorded": ("judge",)}, []),
        (
            {"judge": SECRET},
            {"recorded": ("judge",)},
            ["--role", "judge=mine,api_key='***',model=j"],
        ),
    ],
    ids=["those asked", "those of an agent", "not what is recorded", "but for secrets"],
)
def test_the_command_names_roles(
    roles: dict[str, BackendSpec], more: dict[str, Any], flags: list[str]
) -> None:
    assert shlex.split(score_command(Path("runs"), [judged()], roles, **more)) == [
        "mmeval",
        "score",
        "runs",
        *flags,
    ]
    # Consent that the run gave is given again.
    assert (
        score_command(Path("runs"), [judged(**{TRUST: True})], {})
        == f"mmeval score runs --{TRUST}"
    )
