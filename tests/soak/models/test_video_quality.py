"""The quality of a video of seconds, of which a seed draws the frames."""

from pathlib import Path

from tests.metrics.video.test_video_quality import Branches, saved, scored, with_videos
from tests.support.tiny_media import clip


def test_the_seed_decides_which_parts_of_a_long_video_are_seen(tmp_path: Path) -> None:
    model = saved(tmp_path, Branches())
    trials = [with_videos(clip(frames=150))]
    first, again, other = (
        scored(trials, model=model, seed=seed)[0].value for seed in (0, 0, 1)
    )
    assert first == again != other
