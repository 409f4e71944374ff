from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, media_part
from mmeval.metric.apply import score_all
from mmeval.metric.bound import bind
from mmeval.metrics.video.video_quality import AESTHETIC, NETWORK, TECHNICAL, fused, video_quality
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.tiny_media import clip
from tests.support.trials import trial

BROKEN = b"\x00\x00\x00\x20ftypisom" + bytes(60)


class Branches(torch.nn.Module):  # type: ignore[misc]  # torch's types are not followed
    """Takes both views and says of each how light it is."""

    def forward(self, technical: torch.Tensor, aesthetic: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return technical.mean(dim=[1, 2, 3, 4]).unsqueeze(1) / 10, aesthetic.mean() / 10 + torch.zeros(1, 1)


class OneBranch(torch.nn.Module):  # type: ignore[misc]  # torch's types are not followed
    def forward(self, technical: torch.Tensor, aesthetic: torch.Tensor) -> torch.Tensor:
        return technical.mean()


class Nothing(torch.nn.Module):  # type: ignore[misc]  # torch's types are not followed
    def forward(self, technical: torch.Tensor, aesthetic: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return technical.mean() / 0.0, aesthetic.mean() * 0.0 / 0.0


class OneArgument(torch.nn.Module):  # type: ignore[misc]  # torch's types are not followed
    def forward(self, technical: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return technical.mean(), technical.mean()


def saved(folder: Path, module: torch.nn.Module) -> str:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        torch.jit.script(module).save(str(folder / NETWORK))
    return str(folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("dover"), Branches())


def with_videos(*files: bytes) -> Trial:
    return trial(Interleaved(tuple(media_part(Media.from_bytes(data), "video") for data in files)))


def scored(trials: Sequence[Trial], profile: str = "standard", **switches: Any) -> list[Score]:
    return [scores["video_quality"] for scores in score_all(bind(video_quality, switches, profile), trials)]


def item(score: Score) -> dict[str, Any]:
    found = score.evidence["items"][0]
    assert isinstance(found, dict)
    return found


def test_the_scores_of_both_branches_are_put_together() -> None:
    x = 0.6104 * (0.2 - 0.1107) / 0.07355 + 0.3896 * (-0.05 + 0.08285) / 0.03774

    assert fused(0.2, -0.05) == pytest.approx(1 / (1 + math.exp(-x)), abs=1e-12)
    assert fused(TECHNICAL.mean, AESTHETIC.mean) == 0.5


@pytest.mark.parametrize(
    ("technical", "aesthetic", "quality"),
    [(0.1107, -0.08285, 0.5), (0.18425, -0.08285, 0.648032), (0.1107, -0.04511, 0.596186), (0, 0, 0.484148)],
)
def test_the_published_constants_are_used(technical: float, aesthetic: float, quality: float) -> None:
    assert fused(technical, aesthetic) == pytest.approx(quality, abs=2e-6)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0, 10))
def test_a_better_branch_never_makes_a_video_worse(technical: float, aesthetic: float, more: float) -> None:
    base = fused(technical, aesthetic)

    assert 0 <= base <= 1
    assert fused(technical + more, aesthetic) >= base
    assert fused(technical, aesthetic + more) >= base


def test_videos_are_scored_by_the_means_of_the_branches(model: str) -> None:
    one, both = scored([with_videos(clip()), with_videos(clip(), clip(frames=1))], model=model)
    seen = item(one)

    assert seen["quality"] == pytest.approx(fused(seen["technical"], seen["aesthetic"]))
    qualities = [item["quality"] for item in both.evidence["items"]]
    assert (one.value, both.value) == (qualities[0], pytest.approx(sum(qualities) / 2))
    assert seen["technical"] != qualities[1]


def test_the_same_video_has_the_same_score_and_the_seed_decides_what_is_seen(model: str) -> None:
    trials = [with_videos(clip(frames=150))]

    again = [scored(trials, model=model, seed=seed)[0].value for seed in (0, 0, 1)]

    assert again[0] == again[1] != again[2]


@pytest.mark.parametrize(("profile", "value"), [("standard", 0.0), ("official", None)])
def test_a_video_that_cannot_be_decoded_is_0_and_has_nothing_in_the_release(
    model: str, profile: str, value: float | None
) -> None:
    damaged, missing = scored([with_videos(BROKEN), trial("See <video1>.")], profile, model=model)

    assert (damaged.value, missing.value) == (value, value)


def test_an_answer_without_a_video_is_inapplicable_and_a_failed_one_unscored(model: str) -> None:
    found = scored([trial("words"), trial(None)], model=model)

    assert [score.status for score in found] == ["inapplicable", "unscored"]


def test_without_weights_it_is_unavailable_and_says_what_to_do(tmp_path: Path) -> None:
    nameless, empty = (bind(video_quality, switches).unavailable(()) for switches in ({}, {"model": str(tmp_path)}))

    assert nameless.endswith("""(mmeval metric: --params '{"model": "FOLDER"}')""")
    assert f"lacks {NETWORK}" in empty


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    (tmp_path / NETWORK).write_bytes(b"not a network")
    (score,) = scored([with_videos(clip())], model=str(tmp_path))

    assert (score.status, score.cause) == ("unscored", "lost")
    assert str(tmp_path) in score.reason
    assert "cannot be loaded" in score.reason


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (OneBranch(), "does not return the scores of two branches"),
        (Nothing(), "returns what is no number"),
        (OneArgument(), "cannot be loaded"),
    ],
    ids=["one branch", "no number", "one argument"],
)
def test_another_network_is_told(tmp_path: Path, module: torch.nn.Module, said: str) -> None:
    (score,) = scored([with_videos(clip())], model=saved(tmp_path, module))

    assert score.status == "unscored"
    assert said in score.reason


def test_weights_are_known_by_what_they_are(tmp_path: Path, model: str) -> None:
    other = saved(tmp_path, OneBranch())
    marks = [bind(video_quality, {"model": folder}).models["model"]["fingerprint"] for folder in (model, model, other)]

    assert marks[0] == marks[1] != marks[2]
