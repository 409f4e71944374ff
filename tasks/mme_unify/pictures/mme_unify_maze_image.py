"""MME-Unify: do the pictures of a way through a maze show its states?"""

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
    Seen,
    Tie,
    candidates_of,
    first_unknown,
    seen_together,
    similarities,
    wins,
)
from mmeval.tasks.mme_unify.turns import turns_of

Vcot: TypeAlias = Literal["paper", "official"]
StepImages: TypeAlias = Literal["before", "after"]


def _fault(sample: Sample, _switches: object = None) -> str:
    """Why no way through a maze could be scored, or an empty text."""
    actions = sample.metadata.get(ACTION)
    if not isinstance(actions, list) or not actions:
        return f"{ACTION!r} is no list of words"
    count = len(sample.candidates)
    if count != len(actions) - 1:
        return f"it has {count} states of the maze for {len(actions)} actions"
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
    """The share of the steps of a maze whose picture is nearest, by CLIP, to the right
    one among all its states.

    ``vcot: paper``: the steps are the moves, and the picture shows the maze after the
    move. Where the data's pictures show the states ``before`` the moves, that is the
    next one, and the last move, after which the maze is not drawn, is left out; a maze
    of one move has no share then. With ``step_images: after`` it is the one of the move
    itself. A turn without a picture, or with one that is missing or damaged,
    is wrong.

    ``official``, as the released script: the steps are all actions, Finish among them,
    whose picture is never right; that of a step is right where it is nearest to the
    state of the same number. One that is missing or damaged has the
    similarity 0 to all, so that it is right in the first step, and so has such a state.

    The weight of a share is the number of its steps. Unscored where a state is missing
    or damaged, unless ``official``, and where a picture or a state is not read here or
    is above the limits of decoding. Switches: ``model``, ``tie`` and ``vectors`` as for
    ``mme_unify_image``. Evidence: the wrong steps.
    """
    embed = embedder(model, vectors)
    asked = [_asked(trial, vcot, step_images) for trial in trials]
    groups = []
    for one in asked:
        if isinstance(one, _Asked):
            groups.append([*one.pictures.values(), *one.states.values()])
    seen = iter(seen_together(embed, groups))
    scores = []
    for one in asked:
        if isinstance(one, _Asked):
            scores.append(_score(one, next(seen), vcot, tie))
        else:
            scores.append(one)
    return scores


class _Asked(NamedTuple):
    """``wanted`` is the number of the right state by step; a picture whose file is
    ``missing`` is none of ``pictures``."""

    wanted: Mapping[int, int]
    pictures: Mapping[int, Media]
    missing: frozenset[int]
    drawn: int
    states: Mapping[int, Media]


def _asked(
    trial: Trial,
    vcot: Vcot,
    step_images: StepImages,
) -> _Asked | Score:
    if fault := _fault(trial.sample):
        return Score.unscored(fault)
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    states = candidates_of(trial.sample)
    # the steps that are looked at, each with the number of the right state
    if vcot == "official":
        wanted = {step: step for step in range(len(states) + 1)}
    else:
        shift = 1 if step_images == "before" else 0
        wanted = {step: step + shift for step in range(len(states) - shift)}
    if not wanted:
        return Score.inapplicable("the maze is not drawn after its only move")
    if None in states and vcot == "paper":
        return Score.unscored(
            "the file of a state of the maze is missing", weight=len(wanted)
        )
    pictures = {}
    missing = set()
    for step, turn in turns_of(trial.output).items():
        if step not in wanted or turn.picture is None:
            continue
        if turn.picture.media is None:
            missing.add(step)
        else:
            pictures[step] = turn.picture.media
    drawn = {at: media for at, media in enumerate(states) if media is not None}
    return _Asked(wanted, pictures, frozenset(missing), len(states), drawn)


def _score(
    asked: _Asked,
    seen: Sequence[Seen],
    vcot: Vcot,
    tie: Tie,
) -> Score:
    pictures = dict(zip(asked.pictures, seen, strict=False))
    drawn = dict(zip(asked.states, seen[len(pictures) :], strict=True))
    weight = len(asked.wanted)
    lost = first_unknown(drawn.values(), damaged=vcot == "paper")
    if lost is not None:
        return Score.unscored(f"a state of the maze: {lost}", weight=weight)
    unknown = first_unknown(pictures.values(), damaged=False)
    if unknown is not None:
        return Score.unscored(str(unknown), weight=weight)
    nothing = CorruptMediaError("the file is missing")
    states = [drawn.get(at, nothing) for at in range(asked.drawn)]
    if vcot == "official":
        pictures |= dict.fromkeys(asked.missing, nothing)
    wrong = []
    for step, state in asked.wanted.items():
        picture = pictures.get(step, nothing)
        # official: what cannot be seen has the similarity 0 to all
        is_damaged = vcot != "official" and isinstance(picture, ContentError)
        is_right = False
        if step in pictures and states and not is_damaged:
            is_right = wins(similarities(picture, states), state, tie)
        if not is_right:
            wrong.append(step)
    share = (weight - len(wrong)) / weight
    return Score(share, evidence={"wrong": wrong}, weight=weight)
