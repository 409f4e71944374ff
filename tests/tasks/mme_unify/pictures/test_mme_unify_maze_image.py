from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from mmeval.media import Media, media_part
from mmeval.metric import bind
from mmeval.metrics.image.networks.clip import CLIP
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.mme_unify.pictures.mme_unify_maze_image import mme_unify_maze_image
from mmeval.tasks.mme_unify.turns import MazeTurn, answer_of
from tests.support.models import tiny
from tests.support.pictures import candidates, picture, vectors_file
from tests.support.trials import score_of, scored_together

Scored = Callable[..., Score]
STATES = ("red", "green", "blue")
AFTER: dict[str, Any] = {"step_images": "after"}


def asked(*pictures: str | None, states: tuple[str, ...] = STATES) -> Trial:
    """A turn for each picture; without a name a turn without one."""
    actions = [*["Up"] * len(states), "Finish"]
    turns = [
        MazeTurn(step, "Up", [0, 0], None if one is None else picture(one))
        for step, one in enumerate(pictures)
    ]
    sample = Sample(
        "1", (), metadata={"action": actions}, candidates=candidates(*states)
    )
    return Trial(sample, output=answer_of(turns))


@pytest.fixture
def scored(tmp_path: Path) -> Scored:
    """Gives the score of a trial, with vectors of a file in place of a model."""
    return partial(score_of, mme_unify_maze_image, vectors=vectors_file(tmp_path))


def told(score: Score) -> tuple[Any, Any]:
    return (
        score.status if score.value is None else pytest.approx(score.value),
        score.weight,
    )


def test_the_picture_of_a_move_is_the_next_state_and_the_last_move_has_none(
    scored: Scored,
) -> None:
    score = scored(asked("greenish", "red", "blue"))
    assert (score.value, score.weight, score.evidence) == (0.5, 2, {"wrong": [1]})
    assert scored(asked("green", "bluish")).value == 1


def test_it_is_the_state_of_the_move_where_the_data_show_those_after_it(
    scored: Scored,
) -> None:
    score = scored(asked("reddish", "red", "blue"), **AFTER)
    assert (score.value, score.weight, score.evidence) == (
        pytest.approx(2 / 3),
        3,
        {"wrong": [1]},
    )


def test_in_the_script_finish_is_a_step_whose_picture_is_never_right(
    scored: Scored,
) -> None:
    score = scored(
        asked("red", "green", "blue", "blue"),
        "official",
    )
    assert (score.value, score.weight, score.evidence) == (0.75, 4, {"wrong": [3]})


@pytest.mark.parametrize("unread", ["broken", "missing"])
def test_a_picture_that_cannot_be_read_is_wrong_and_in_the_script_right_at_the_first_step(
    unread: str, scored: Scored
) -> None:
    lacking = asked(unread, unread, None)
    for switches, steps in (({}, 2), (AFTER, 3)):
        score = scored(lacking, **switches)
        assert (score.value, score.weight) == (0, steps)
    official = scored(lacking, "official")
    assert official.evidence == {"wrong": [1, 2, 3]}
    assert scored(asked(None), "official").value == 0


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_picture_that_is_not_read_here_leaves_the_maze_unscored(
    profile: str, scored: Scored
) -> None:
    trial = asked("unread", "red", None)
    score = scored(trial, profile)
    assert (score.status, "image/heic" in score.reason) == ("unscored", True)


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_picture_above_the_limits_leaves_the_maze_unscored(
    profile: str, tmp_path: Path
) -> None:
    Image.new("1", (6001, 6001)).save(tmp_path / "huge.png")
    huge = media_part(Media.from_path(tmp_path / "huge.png"), "image")
    trial = replace(
        asked(),
        output=answer_of(
            [MazeTurn(0, "Up", [0, 0], huge), MazeTurn(1, "Up", [0, 0], picture("red"))]
        ),
    )
    score = score_of(mme_unify_maze_image, trial, profile, model=tiny("clip", CLIP))
    assert (told(score), "max_pixels" in score.reason) == (
        ("unscored", 4 if profile == "official" else 2),
        True,
    )


def test_an_exact_tie_of_states_is_wrong_or_the_first_wins(scored: Scored) -> None:
    tied = asked("red", "green", states=("red", "green", "green"))
    assert scored(tied, **AFTER).evidence == {"wrong": [1, 2]}
    assert scored(tied, tie="first", **AFTER).evidence == {"wrong": [2]}
    assert scored(tied, "official").evidence == {"wrong": [2, 3]}


def test_a_state_that_cannot_be_read_leaves_the_maze_unscored_or_has_no_similarity(
    scored: Scored,
) -> None:
    for unread in ("broken", "missing"):
        maze = asked("red", "green", states=("red", "green", unread))
        assert told(scored(maze)) == (
            "unscored",
            2,
        )
        assert told(scored(maze, "official")) == (0.5, 4)


def test_a_maze_of_one_move_has_no_share_unless_its_picture_is_that_of_the_move(
    scored: Scored,
) -> None:
    short = asked("red", states=("red",))
    assert scored(short).status == "inapplicable"
    assert scored(short, **AFTER).value == 1
    assert scored(short, "official").value == 0.5


def test_two_hundred_turns_and_no_answer(scored: Scored) -> None:
    assert (
        scored(
            asked("green", "blue", *["red"] * 198),
        ).value
        == 1
    )
    assert scored(asked()).value == 0
    assert scored(Trial(asked().sample)).status == "unscored"


@pytest.mark.parametrize("labels", [{}, {"action": []}, {"action": ["Up", "Finish"]}])
def test_a_maze_without_its_states_is_unscored(labels: Any, scored: Scored) -> None:
    trial = Trial(
        Sample("1", (), metadata=labels, candidates=candidates(*STATES)),
        output=answer_of([]),
    )
    assert bind(mme_unify_maze_image).sample_fault(trial.sample)
    assert scored(trial).status == "unscored"


def test_by_a_model_a_batch_scores_as_each_answer_alone() -> None:
    model = tiny("clip", CLIP)
    trials = [
        asked("green", "blue"),
        asked("red", None),
        asked(),
        asked("broken", "blue"),
        asked("green", "red"),
    ]
    together = [
        score.value
        for score in scored_together(mme_unify_maze_image, trials, model=model)
    ]
    assert together == [
        score_of(mme_unify_maze_image, one, model=model).value for one in trials
    ]
    assert together == [1, 0, 0, 0.5, 0.5]
