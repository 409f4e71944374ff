from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from mmeval.media import Media, media_part
from mmeval.metric import bind
from mmeval.metrics.image.networks.clip import CLIP
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.mme_unify.pictures.mme_unify_maze_image import mme_unify_maze_image
from mmeval.tasks.mme_unify.turns import Turn, answer_of
from tests.support.hearing import scored_together, tiny
from tests.support.trials import score_of
from tests.support.vectors import candidates, picture, vectors_file

STATES = ("red", "green", "blue")
AFTER: dict[str, Any] = {"step_images": "after"}


def asked(*pictures: str | None, states: tuple[str, ...] = STATES) -> Trial:
    """A turn for each picture; without a name a turn without one."""
    actions = [*["Up"] * len(states), "Finish"]
    turns = [
        Turn(step, "Up", [0, 0], None if one is None else picture(one))
        for step, one in enumerate(pictures)
    ]
    sample = Sample(
        "1", (), metadata={"action": actions}, candidates=candidates(*states)
    )
    return Trial(sample, output=answer_of(turns))


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    return vectors_file(tmp_path)


def told(score: Score) -> tuple[Any, Any]:
    return (
        score.status if score.value is None else pytest.approx(score.value),
        score.weight,
    )


def test_the_picture_of_a_move_is_the_next_state_and_the_last_move_has_none(
    vectors: str,
) -> None:
    score = score_of(
        mme_unify_maze_image, asked("greenish", "red", "blue"), vectors=vectors
    )
    assert (score.value, score.weight, score.evidence) == (0.5, 2, {"wrong": [1]})
    assert (
        score_of(mme_unify_maze_image, asked("green", "bluish"), vectors=vectors).value
        == 1
    )


def test_it_is_the_state_of_the_move_where_the_data_show_those_after_it(
    vectors: str,
) -> None:
    score = score_of(
        mme_unify_maze_image, asked("reddish", "red", "blue"), vectors=vectors, **AFTER
    )
    assert (score.value, score.weight, score.evidence) == (
        pytest.approx(2 / 3),
        3,
        {"wrong": [1]},
    )


def test_in_the_script_finish_is_a_step_whose_picture_is_never_right(
    vectors: str,
) -> None:
    score = score_of(
        mme_unify_maze_image,
        asked("red", "green", "blue", "blue"),
        "official",
        vectors=vectors,
    )
    assert (score.value, score.weight, score.evidence) == (0.75, 4, {"wrong": [3]})


@pytest.mark.parametrize("unread", ["broken", "missing"])
def test_a_picture_that_cannot_be_read_is_wrong_and_in_the_script_right_at_the_first_step(
    unread: str, vectors: str
) -> None:
    lacking = asked(unread, unread, None)
    for switches, steps in (({}, 2), (AFTER, 3)):
        score = score_of(mme_unify_maze_image, lacking, vectors=vectors, **switches)
        assert (score.value, score.weight) == (0, steps)
    official = score_of(mme_unify_maze_image, lacking, "official", vectors=vectors)
    assert official.evidence == {"wrong": [1, 2, 3]}
    assert (
        score_of(mme_unify_maze_image, asked(None), "official", vectors=vectors).value
        == 0
    )


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_picture_that_is_not_read_here_leaves_the_maze_unscored(
    profile: str, vectors: str
) -> None:
    trial = asked("unread", "red", None)
    score = score_of(mme_unify_maze_image, trial, profile, vectors=vectors)
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
            [Turn(0, "Up", [0, 0], huge), Turn(1, "Up", [0, 0], picture("red"))]
        ),
    )
    score = score_of(mme_unify_maze_image, trial, profile, model=tiny("clip", CLIP))
    assert (told(score), "max_pixels" in score.reason) == (
        ("unscored", 4 if profile == "official" else 2),
        True,
    )


def test_an_exact_tie_of_states_is_wrong_or_the_first_wins(vectors: str) -> None:
    tied = asked("red", "green", states=("red", "green", "green"))
    assert score_of(mme_unify_maze_image, tied, vectors=vectors, **AFTER).evidence == {
        "wrong": [1, 2]
    }
    assert score_of(
        mme_unify_maze_image, tied, vectors=vectors, tie="first", **AFTER
    ).evidence == {"wrong": [2]}
    assert score_of(
        mme_unify_maze_image, tied, "official", vectors=vectors
    ).evidence == {"wrong": [2, 3]}


def test_a_state_that_cannot_be_read_leaves_the_maze_unscored_or_has_no_similarity(
    vectors: str,
) -> None:
    for unread in ("broken", "missing"):
        maze = asked("red", "green", states=("red", "green", unread))
        assert told(score_of(mme_unify_maze_image, maze, vectors=vectors)) == (
            "unscored",
            2,
        )
        assert told(
            score_of(mme_unify_maze_image, maze, "official", vectors=vectors)
        ) == (0.5, 4)


def test_a_maze_of_one_move_has_no_share_unless_its_picture_is_that_of_the_move(
    vectors: str,
) -> None:
    short = asked("red", states=("red",))
    assert (
        score_of(mme_unify_maze_image, short, vectors=vectors).status == "inapplicable"
    )
    assert score_of(mme_unify_maze_image, short, vectors=vectors, **AFTER).value == 1
    assert (
        score_of(mme_unify_maze_image, short, "official", vectors=vectors).value == 0.5
    )


def test_two_hundred_turns_and_no_answer(vectors: str) -> None:
    assert (
        score_of(
            mme_unify_maze_image,
            asked("green", "blue", *["red"] * 198),
            vectors=vectors,
        ).value
        == 1
    )
    assert score_of(mme_unify_maze_image, asked(), vectors=vectors).value == 0
    assert (
        score_of(mme_unify_maze_image, Trial(asked().sample), vectors=vectors).status
        == "unscored"
    )


@pytest.mark.parametrize("labels", [{}, {"action": []}, {"action": ["Up", "Finish"]}])
def test_a_maze_without_its_states_is_unscored(labels: Any, vectors: str) -> None:
    trial = Trial(
        Sample("1", (), metadata=labels, candidates=candidates(*STATES)),
        output=answer_of([]),
    )
    assert bind(mme_unify_maze_image).sample_fault(trial.sample)
    assert score_of(mme_unify_maze_image, trial, vectors=vectors).status == "unscored"


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
