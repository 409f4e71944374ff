from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.batch_size import BatchSize
from mmeval.backend.capabilities import Capabilities
from mmeval.errors import UnknownNameError
from mmeval.records.request import GenerationParams, Request
from mmeval.run.backends import check_options, say_unbatched
from mmeval.run.options import BackendSpec
from mmeval.system.json_lines import from_line
from tests.support.toy import Toy, ToyLocal, run_toy, task


class Drawing(Toy):
    """Knows one option."""

    def __init__(self, **args: Any) -> None:
        super().__init__(**args)
        self.capabilities = replace(Capabilities.of(("text",), ("text", "image")), options=frozenset({"image.size"}))


def asked_with(*given: str, **options: Any) -> Any:
    """A task with options, of which some were given on the command line."""
    return task(params=GenerationParams(options=options), given_options=frozenset(given))


def test_an_option_of_the_command_line_that_the_model_does_not_know_is_refused_with_the_near_one() -> None:
    with pytest.raises(
        UnknownNameError, match=r"'image.sise'; did you mean \"image.size\"\? The model knows image.size"
    ):
        check_options({"model": Drawing()}, [asked_with("image.sise", **{"image.sise": 1})])


def test_an_option_that_only_task_files_give_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    unknown = asked_with(**{"image.size": "1x1", "image.steps": 5})
    check_options({"model": Drawing()}, [unknown, replace(unknown, name="other")])
    assert [record.getMessage() for record in caplog.records] == [
        "toy and 1 more: the model knows no option image.steps, and is asked without it"
    ]


def test_a_role_has_options_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    made = task(roles={"judge": GenerationParams(options={"image.steps": 5}), "nobody": GenerationParams()})
    check_options({"model": Toy(), "judge": Drawing()}, [made])
    assert "toy: the judge knows no option image.steps" in caplog.text


def test_where_nobody_can_say_what_a_model_knows_it_is_given_everything(caplog: pytest.LogCaptureFixture) -> None:
    check_options({"model": Toy()}, [asked_with("image.steps", **{"image.steps": 5})])
    assert caplog.records == []


def test_an_option_that_is_left_out_is_not_sent_and_stands_in_the_answer(tmp_path: Path) -> None:
    model = Drawing()
    made = asked_with(**{"image.size": "1x1", "image.steps": 5})
    for kept in (0, 3):
        outcome = run_toy(tmp_path, made, model=BackendSpec("toy", instance=model))
        assert (outcome.exit_code, outcome.counts.kept) == (0, kept)
    assert [request.params.options for request in model.asked] == [{"image.size": "1x1"}] * 3
    (journal,) = tmp_path.rglob("journal/*.jsonl")
    warned = [from_line(line)["r"]["warnings"] for line in journal.read_bytes().splitlines()]
    assert warned == [["the model knows no option image.steps; it was left out"]] * 3


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (BatchSize(), ""),
        (BatchSize(4), ""),
        (BatchSize(5), "--batch_size 5: this backend takes 4 requests at a time at most"),
        (BatchSize(growths=2), ""),
    ],
    ids=str,
)
def test_a_batch_that_a_backend_cannot_take_is_said(
    size: BatchSize, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    say_unbatched({"model": ToyLocal(max_batch_size=4)}, size)
    assert [record.getMessage() for record in caplog.records] == ([said] if said else [])


def test_a_batch_size_where_nothing_is_batched_is_said(caplog: pytest.LogCaptureFixture) -> None:
    say_unbatched({"model": Toy()}, BatchSize(growths=2))
    assert "--batch_size auto:2 has no effect" in caplog.text


def test_requests_without_some_options_are_still_the_same_question() -> None:
    whole = Request((), GenerationParams(options={"image.size": "1x1", "image.steps": 5}), seed=3)
    less = whole.without_options(["image.steps"])
    assert (less.params.options, less.seed, less.digest) == ({"image.size": "1x1"}, 3, whole.digest)
    assert whole.without_options([]) is whole
