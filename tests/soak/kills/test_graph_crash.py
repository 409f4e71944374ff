"""A run of ISG-Bench that is killed among questions about pairs and about pictures asks
none of them twice."""

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.soak.kills.test_crash import killed_once
from tests.support.cli import mmeval_process, score_files
from tests.support.judges import OF_ISG, judge, judge_server
from tests.support.mock_openai_server import MockServer, State, last_text

KINDS = dict(zip(OF_ISG, ("block", "image", "holistic"), strict=True))
MOMENTS = (4, 40)
"""How many answers there are when the run is killed."""


class WatchedState(State):
    """A judge's state that knows of which level the questions in flight are."""

    def __init__(self, settings: Any) -> None:
        self.asked: dict[str, str] = {}
        State.__init__(self, settings)

    def message(self, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        words = last_text(body)
        self.asked[key] = next(kind for form, kind in KINDS.items() if form in words)
        found: dict[str, Any] = State.message(self, body, key)
        return found

    def in_the_air(self) -> set[str]:
        return {kind for key, kind in self.asked.items() if key not in self.answered}


def command(server: MockServer, output: Path) -> list[str | Path]:
    run = (
        "--tasks",
        "isg",
        "--data",
        "bundled",
        "--model",
        "reference",
        "--report",
        "false",
    )
    return [*run, *judge(server), "--output_path", output, "--max_connections", "6"]


def test_a_run_killed_among_pairs_and_pictures_asks_nothing_twice(
    tmp_path: Path,
) -> None:
    with judge_server(tmp_path / "judge") as server:
        assert mmeval_process(*command(server, tmp_path / "whole")).code == 0
        whole = server.stats()
    with judge_server(tmp_path / "judge", latency=0.1) as server:
        state = server.state = WatchedState(server.state.settings)
        arguments, died = command(server, tmp_path / "killed"), []
        for moment in MOMENTS:
            state.asked.clear()

            def reached(moment: int = moment) -> bool:
                return (
                    server.stats()["answered"] >= moment
                    and {"block", "image"} <= state.in_the_air()
                )

            died.append(killed_once(reached, arguments, server, tmp_path / "killed"))
        left = whole["answered"] - server.stats()["answered"]
        last = mmeval_process(*arguments)
        assert (died, last.code, left > 0) == ([-signal.SIGKILL] * 2, 0, True), last.err
        assert (server.stats()["repeated_after_answer"], server.stats()["unique"]) == (
            0,
            whole["unique"],
        )
    assert list(score_files(tmp_path / "killed").values()) == list(
        score_files(tmp_path / "whole").values()
    )
    assert len(score_files(tmp_path / "whole")) == 21
