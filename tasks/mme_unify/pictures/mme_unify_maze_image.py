"""MME-Unify: whether pictures of a path through a maze show the right states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from mmeval.errors import ContentError, CorruptMediaError
from mmeval.media import Media
from mmeval.metric import metric
from mmeval.metrics.image.networks.clip import CLIP_B32, clip_needs, embedder
from mmeval.records import Sample, Score, Trial
from mmeval.system import PathOrName
from mmeval.tasks.mme_unify.mme_unify_maze import ACTION
from mmeval.tasks.mme_unify.pictures.verdict import (
    Model,
    Tie,
    VectorOrError,
    candidates_of,
    embedded_together,
    first_unknown,
    similarities,
    wins,
)
from mmeval.tasks.mme_unify.turns import turns_of

Vcot: TypeAlias = Literal["paper", "official"]
StepImages: TypeAlias = Literal["before", "after"]


def _fault(sample: Sample, _switches: object = None) -> str:
    """Returns why a maze cannot be scored, or an empty string if it can."""
    actions = sample.metadata.get(ACTION)
    if not isinstance(actions, list) or not actions:
        return f"{ACTION!r} is not a list of words"
    count = len(sample.candidates)
    if count != len(actions) - 1:
        return f"the sample has {count} states of the maze for {len(actions)} actions"
    return ""


@metric(
    range=(0, 1),
    version="2",
    source="MME-Unify, section 3.3 and the released script",
    needs=clip_needs,
    profiles={"official": {"vcot": "official", "tie": "first"}},
    check=_fault,
    batch=4,
)
def mme_unify_maze_image(
    trials: Sequence[Trial],
    *,
    model: Model = CLIP_B32,
    vcot: Vcot = "paper",
    step_images: StepImages = "before",
    tie: Tie = "wrong",
    vectors: PathOrName = "",
) -> list[Score]:
    """The share of a maze's steps with a picture nearest to the right state, by CLIP.

    Range 0 to 1, higher is better. Each picture is compared with all states of the
    maze.

    With ``vcot: paper`` the steps are the moves, and a picture shows the maze after the
    move. With ``step_images: before`` the data's pictures show the states before the
    moves. The right state for a move is then the next state. The last move is left out,
    since the maze is not drawn after it, and a maze of one move is inapplicable. With
    ``step_images: after`` the right state has the same number as the move. A turn is
    wrong if its picture is missing or damaged.

    ``vcot: official`` works as the released script does. The steps are all actions.
    Finish is never right. The picture of a step is right if it is nearest to the state
    with the same number. A missing or damaged picture or state has the similarity 0 to
    all others, so such a picture is right in the first step.

    The weight of a share is the number of its steps. Unscored if a state is missing or
    damaged (not with ``official``), and if a picture or a state is unsupported or above
    the limits of decoding. ``model``, ``tie`` and ``vectors`` are as in
    ``mme_unify_image``. Evidence: the ``wrong`` steps.
    """
    embed = embedder(model, vectors)
    items = [_comparison(trial, vcot, step_images) for trial in trials]
    groups = []
    for item in items:
        if isinstance(item, _MazeComparison):
            groups.append([*item.pictures.values(), *item.states.values()])
    embeddings = iter(embedded_together(embed, groups))
    scores = []
    for item in items:
        if isinstance(item, _MazeComparison):
            scores.append(_score(item, next(embeddings), vcot, tie))
        else:
            scores.append(item)
    return scores


class _MazeComparison(NamedTuple):
    """The pictures and states to compare, by step.

    ``right_states`` contains the numbers of the right states. ``missing`` contains the
    steps whose picture has no file. These steps are not in ``pictures``.
    """

    right_states: Mapping[int, int]
    pictures: Mapping[int, Media]
    missing: frozenset[int]
    state_count: int
    states: Mapping[int, Media]


def _comparison(
    trial: Trial,
    vcot: Vcot,
    step_images: StepImages,
) -> _MazeComparison | Score:
    if fault := _fault(trial.sample):
        return Score.unscored(fault)
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    states = candidates_of(trial.sample)
    # The scored steps, each with the number of its right state.
    if vcot == "official":
        right_states = {step: step for step in range(len(states) + 1)}
    else:
        shift = 1 if step_images == "before" else 0
        right_states = {step: step + shift for step in range(len(states) - shift)}
    if not right_states:
        return Score.inapplicable("the maze is not drawn after its only move")
    if None in states and vcot == "paper":
        return Score.unscored(
            "the file of a state of the maze is missing", weight=len(right_states)
        )
    pictures = {}
    missing = set()
    for step, turn in turns_of(trial.output).items():
        if step not in right_states or turn.picture is None:
            continue
        if turn.picture.media is None:
            missing.add(step)
        else:
            pictures[step] = turn.picture.media
    known_states = {
        number: media for number, media in enumerate(states) if media is not None
    }
    return _MazeComparison(
        right_states, pictures, frozenset(missing), len(states), known_states
    )


def _score(
    comparison: _MazeComparison,
    embeddings: Sequence[VectorOrError],
    vcot: Vcot,
    tie: Tie,
) -> Score:
    pictures = dict(zip(comparison.pictures, embeddings, strict=False))
    state_embeddings = embeddings[len(pictures) :]
    known_states = dict(zip(comparison.states, state_embeddings, strict=True))
    weight = len(comparison.right_states)
    state_error = first_unknown(known_states.values(), damaged=vcot == "paper")
    if state_error is not None:
        return Score.unscored(f"a state of the maze: {state_error}", weight=weight)
    picture_error = first_unknown(pictures.values(), damaged=False)
    if picture_error is not None:
        return Score.unscored(str(picture_error), weight=weight)
    missing = CorruptMediaError("the file is missing")
    numbers = range(comparison.state_count)
    states = [known_states.get(number, missing) for number in numbers]
    if vcot == "official":
        pictures |= dict.fromkeys(comparison.missing, missing)
    wrong = []
    for step, state in comparison.right_states.items():
        picture = pictures.get(step, missing)
        # In the official variant a missing or damaged picture has the similarity 0 to
        # all states.
        is_damaged = vcot != "official" and isinstance(picture, ContentError)
        is_right = False
        if step in pictures and states and not is_damaged:
            is_right = wins(similarities(picture, states), state, tie)
        if not is_right:
            wrong.append(step)
    share = (weight - len(wrong)) / weight
    return Score(share, evidence={"wrong": wrong}, weight=weight)
