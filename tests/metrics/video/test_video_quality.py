import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from mmeval.media import Interleaved, Media, media_part
from mmeval.metric import bind, score_all
from mmeval.metrics.video.video_quality import (
    AESTHETIC,
    NETWORK,
    TECHNICAL,
    fused,
    video_quality,
)
from mmeval.records import Score, Trial
from tests.support.tiny_media import clip
from tests.support.trials import missing_weights, trial

BROKEN = b"\x00\x00\x00\x20ftypisom" + bytes(60)


class Branches(torch.nn.Module):  # type: ignore[misc]  # torch's types are not followed
    """Takes both views and gives the lightness of each."""

    def forward(
        self, technical: torch.Tensor, aesthetic: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return technical.mean(dim=[1, 2, 3, 4]).unsqueeze(
            1
        ) / 10, aesthetic.mean() / 10 + torch.zeros(1, 1)


class OneBranch(torch.nn.Module):  # type: ignore[misc]
    def forward(self, technical: torch.Tensor, aesthetic: torch.Tensor) -> torch.Tensor:
        return technical.mean()


class Nothing(torch.nn.Module):  # type: ignore[misc]
    def forward(
        self, technical: torch.Tensor, aesthetic: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return technical.mean() / 0.0, aesthetic.mean() * 0.0 / 0.0


def saved(folder: Path, module: torch.nn.Module) -> str:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        torch.jit.script(module).save(str(folder / NETWORK))
    return str(folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("dover"), Branches())


def with_videos(*files: bytes) -> Trial:
    return trial(
        Interleaved(
            tuple(media_part(Media.from_bytes(data), "video") for data in files)
        )
    )


def scored(
    trials: Sequence[Trial], profile: str = "standard", **switches: Any
) -> list[Score]:
    return [
        scores["video_quality"]
        for scores in score_all(bind(video_quality, switches, profile), trials)
    ]


def test_both_branches_are_fused_with_the_published_constants() -> None:
    by_hand = 1 / (
        1
        + math.exp(
            -0.6104 * (0.2 - 0.1107) / 0.07355 - 0.3896 * (-0.05 + 0.08285) / 0.03774
        )
    )
    qualities = {
        (TECHNICAL.mean, AESTHETIC.mean): 0.5,
        (0, 0): 0.484148,
        (0.2, -0.05): by_hand,
    }
    assert {branches: fused(*branches) for branches in qualities} == pytest.approx(
        qualities, abs=2e-6
    )


def test_an_answer_has_the_mean_of_its_videos(model: str) -> None:
    one, both = scored(
        [with_videos(clip()), with_videos(clip(), clip(frames=1))], model=model
    )
    item = one.evidence["items"][0]
    assert item["quality"] == pytest.approx(fused(item["technical"], item["aesthetic"]))
    first, second = (item["quality"] for item in both.evidence["items"])
    assert one.value == first
    assert both.value == pytest.approx((first + second) / 2)
    assert item["technical"] != second


def test_without_a_video_an_answer_is_zero_and_without_weights_it_is_unavailable(
    model: str, tmp_path: Path
) -> None:
    trials = [with_videos(BROKEN), trial("See <video1>."), trial("words"), trial(None)]
    found = [
        [(one.value, one.status) for one in scored(trials, p, model=model)]
        for p in ("standard", "official")
    ]
    other = [(None, "inapplicable"), (None, "unscored")]
    assert found == [
        [(0, "scored"), (0, "scored"), *other],
        [(None, "unscored"), (None, "unscored"), *other],
    ]
    nameless, empty = (
        missing_weights(bind(video_quality, switches))
        for switches in ({}, {"model": str(tmp_path)})
    )
    assert "ls metrics video_quality" in nameless and f"lacks {NETWORK}" in empty
    folders = model, model, saved(tmp_path, OneBranch())
    marks = [
        bind(video_quality, {"model": folder}).models["model"]["fingerprint"]
        for folder in folders
    ]
    assert marks[0] == marks[1] != marks[2]


@pytest.mark.parametrize(
    ("module", "word"),
    [
        (None, "cannot be loaded"),
        (OneBranch(), "two branches"),
        (Nothing(), "not a number"),
    ],
)
def test_another_network_is_no_fault_of_the_answer(
    tmp_path: Path, module: torch.nn.Module | None, word: str
) -> None:
    if module is None:
        (tmp_path / NETWORK).write_bytes(b"not a network")
    else:
        saved(tmp_path, module)
    (score,) = scored([with_videos(clip())], model=str(tmp_path))
    assert score.status == "unscored"
    assert score.cause == "lost"
    assert str(tmp_path) in score.reason and word in score.reason
