"""Videos, which a server makes in minutes: one that is asked for once, one that is given
up, and what a video costs."""

from pathlib import Path
from typing import Any

from tests.support.cli import (
    mmeval,
    openai,
    results,
)
from tests.support.engine import HOUR, hour_passes_in_pause
from tests.support.mock_openai_server import MockServer
from tests.support.questions import where, write_task


def command(folder: Path, server: MockServer, count: int = 1, **more: str) -> list[str]:
    """The command that asks for videos, polled every 50 milliseconds."""
    rows = [
        {"id": f"{number}", "input": f"{number} balls fall", "reference": "oak"}
        for number in range(count)
    ]
    tasks = write_task(folder / "tasks", "ask", rows)
    task = tasks / "ask.yaml"
    words = task.read_text()
    task.write_text(words.replace("[text]", "[video]"))
    arguments = {"endpoint": "videos", "poll_seconds": "0.05", **more}
    return [*where(folder), *openai(server, **arguments), "--log_samples"]


def polls(server: MockServer) -> int:
    return sum(server.state.videos.values())


def posted(server: MockServer) -> tuple[int, int]:
    """How many videos were asked for, and how many of these after their answer."""
    stats = server.stats()
    return stats["paths"]["/v1/videos"], stats["repeated_after_answer"]


def test_the_same_command_again_asks_for_nothing(tmp_path: Path) -> None:
    with MockServer() as server:
        codes = [mmeval(*command(tmp_path, server)).code for _ in range(2)]
        assert (codes, posted(server), polls(server)) == ([0, 0], (1, 0), 1)


def test_a_run_of_another_name_makes_a_video_of_its_own(tmp_path: Path) -> None:
    with MockServer() as server:
        words = command(tmp_path, server)
        codes = [
            mmeval(*words).code,
            mmeval(*words, "--run_id", "other").code,
            mmeval(*words, "--fresh").code,
        ]
        assert (codes, posted(server)) == ([0, 0, 0], (3, 2))


def test_a_video_that_takes_too_long_is_fetched_by_the_next_command(
    tmp_path: Path,
) -> None:
    with MockServer(video_polls=2) as server:
        words = command(tmp_path, server, poll_seconds=f"{HOUR}")
        with hour_passes_in_pause():
            late = mmeval(*words, "--retry_on_error", "0")
        done = mmeval(*command(tmp_path, server))
        assert (late.code, done.code, posted(server)) == (3, 0, (1, 0))


def test_a_video_has_a_price(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  m: {input: 0, output: 0, per_video: 0.4}\n")
    with MockServer() as server:
        words = command(tmp_path, server)
        dry = mmeval(*words, "--model_cost_config", prices, "--dry_run")
        done = mmeval(*words, "--model_cost_config", prices)
    assert (dry.code, done.code) == (0, 0)
    assert "0.40" in dry.out + dry.err
    spent: Any = results(tmp_path / "runs")["mmeval"]["spent"]
    assert (spent["usd"], spent["videos"]) == (0.4, 1)


def test_a_model_that_gives_no_video_is_told_what_to_declare(tmp_path: Path) -> None:
    with MockServer() as server:
        done = mmeval(*command(tmp_path, server, endpoint="auto"))
    assert (done.code, "outputs=text+video" in done.out) == (3, True)
