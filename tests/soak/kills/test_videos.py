"""The job of a video outlives the run that asked for it."""

import signal
from pathlib import Path

from tests.stories.test_videos import command, polls, posted
from tests.support.cli import (
    mmeval,
    mmeval_process,
    run_folder,
    started,
    wait_for,
)
from tests.support.mock_openai_server import MP4, MockServer

FAULTS = 5


def clips(folder: Path) -> list[Path]:
    """The videos in a run's store."""
    run = run_folder(folder / "runs")
    return sorted((run / "media").rglob("*.mp4"))


def test_a_run_that_is_killed_while_polls_fail_goes_on_with_its_job(
    tmp_path: Path,
) -> None:
    with MockServer(video_faults=FAULTS, video_polls=3) as server:
        words = command(tmp_path, server, poll_seconds="0.3")
        with started(*words) as process:
            wait_for(lambda: polls(server) >= 2, "two polls that fail")
            process.signal(signal.SIGKILL)
            assert process.ended().code == -signal.SIGKILL
        killed_at = polls(server)
        done = mmeval_process(*words)
        assert killed_at < FAULTS
        assert (done.code, polls(server)) == (0, FAULTS + 3)
        assert posted(server) == (1, 0)
    [clip] = clips(tmp_path)
    assert clip.read_bytes().startswith(MP4)


def test_a_run_that_is_stopped_leaves_its_job_to_the_next_one(tmp_path: Path) -> None:
    with MockServer(video_polls=8) as server:
        words = command(tmp_path, server, poll_seconds="0.4")
        with started(*words) as process:
            wait_for(lambda: polls(server) >= 2, "two polls")
            process.signal(signal.SIGINT)
            wait_for(lambda: polls(server) >= 4, "two more")
            # the second one leaves at once
            process.signal(signal.SIGINT)
            stopped = process.ended()
        asked = polls(server)
        done = mmeval(*words)
        assert (stopped.code != 0, asked < 8) == (True, True)
        assert (done.code, polls(server), posted(server)) == (0, 8, (1, 0))
