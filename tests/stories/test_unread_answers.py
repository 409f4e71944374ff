"""Answers in media that mmeval does not read are unscored; damaged ones are wrong."""

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.support import tiny_media as tiny
from tests.support.cli import mmeval
from tests.support.unread_media import DAMAGED, UNREAD, Unread

BY_KIND = {
    "image": ("ssim", "psnr", "image_similarity", "image_quality"),
    "audio": ("audio_quality", "silence_segments"),
    "3d": ("quality_3d",),
}
"""Metrics without a model or a judge, which look at an answer's medium."""


def pairs(media: dict[str, Unread]) -> list[tuple[str, str]]:
    """Each medium with one metric of its kind, in turn: each metric has several."""
    turns = {kind: cycle(metrics) for kind, metrics in BY_KIND.items()}
    return [
        (name, next(turns[unread.kind]))
        for name, unread in media.items()
        if unread.kind in turns
    ]


def scored(metric: str, unread: Unread, folder: Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the result of a metric for an answer with one medium."""
    (folder / "answer.bin").write_bytes(unread.data)
    (folder / "wanted.png").write_bytes(tiny.picture(size=(64, 64)))
    answer = [{"type": unread.kind, "path": str(folder / "answer.bin")}]
    target = [{"type": "image", "path": str(folder / "wanted.png")}]
    done = mmeval(
        "try",
        "metric",
        metric,
        "--answer",
        json.dumps(answer),
        "--target",
        json.dumps(target),
        "--json",
    )
    result: dict[str, Any] = json.loads(done.out)
    return done.code, result


@pytest.mark.parametrize(("name", "metric"), pairs(dict(UNREAD)))
def test_an_answer_that_is_not_read_here_is_unscored_with_the_reason(
    name: str, metric: str, tmp_path: Path
) -> None:
    code, result = scored(metric, UNREAD[name], tmp_path)
    assert (code, result["value"], result["status"]) == (3, None, "unscored")
    assert "answer.bin" in result["reason"]


@pytest.mark.parametrize(("name", "metric"), pairs(dict(DAMAGED)))
def test_an_answer_that_is_damaged_is_wrong(
    name: str, metric: str, tmp_path: Path
) -> None:
    code, result = scored(metric, DAMAGED[name], tmp_path)
    assert (code, result["value"]) == (0, 0.0)
