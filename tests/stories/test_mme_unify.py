"""MME-Unify from end to end, on the bundled rows and on mazes that are played turn by turn."""

import base64
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.cli import QUIET, Ended, environment, mmeval, results
from tests.support.mock_openai_server import MockServer
from tests.support.tiny_media import picture

WITH_PICTURE: dict[str, Any] = {
    "content": "Action: Right\nLocation: [1, 0]\nImage:",
    "images": [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(picture()).decode()}"}}
    ],
}
"""What a server says that gives texts and pictures."""


def replies(folder: Path, *rows: tuple[str, Any]) -> Path:
    file = folder / "replies.jsonl"
    file.write_text("".join(json.dumps({"contains": words, "reply": reply}) + "\n" for words, reply in rows))
    return file


def openai(server: MockServer, **more: str) -> tuple[str, str, str, str]:
    arguments = {"model": "m", "base_url": server.url, "outputs": "text+image", **more}
    return ("--model", "openai", "--model_args", ",".join(f"{key}={value}" for key, value in arguments.items()))


def asked(server: MockServer) -> int:
    return int(server.stats()["requests"])


def run(tasks: str, output: Path, *words: str | Path) -> Ended:
    return mmeval("--tasks", tasks, "--data", "bundled", "--output_path", output, "--report", "false", *words)


def values(output: Path, *, task: str) -> dict[str, float | None]:
    rows = results(output)["mmeval"]["results"]
    return {row["metric"]: row["value"] for row in rows if (row["task"], row["slice"]) == (task, "")}


def test_a_maze_that_is_killed_in_its_third_turn_repeats_no_call(tmp_path: Path) -> None:
    said = replies(tmp_path, ("", WITH_PICTURE))
    with MockServer(replies=str(said)) as server:
        words = ("--tasks", "mme_unify_vcot", "--data", "bundled", "--offset", "1", *openai(server), *QUIET)
        words = (*words, "--output_path", str(tmp_path / "runs"))
        dying = [sys.executable, "-m", "tests.support.dying", "line", "3", *words]
        killed = subprocess.run(dying, env=environment(), capture_output=True, check=False)
        assert (killed.returncode, asked(server)) == (-signal.SIGKILL, 3), killed.stderr
        ended = mmeval(*words)
        assert (ended.code, asked(server)) == (0, 4), ended.err
    assert values(tmp_path / "runs", task="mme_unify_vcot")["mme_unify_action"] == 1 / 3
