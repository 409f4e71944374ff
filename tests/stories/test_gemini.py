"""Runs of a model of Google: what is kept of them, and what they cost."""

import json
from pathlib import Path

from tests.support.cli import (
    QUIET,
    mmeval,
)
from tests.support.gemini import GeminiServer
from tests.support.servers import Scripted, ScriptedServer

KINDS = ("text", "image")
EPISODE = {
    "task": "tale",
    "loader": "interleaved",
    "dataset_path": "data",
    "protocol": "episode",
    "output_modalities": KINDS,
    "metric_list": [{"metric": "strict_structure"}],
    "metadata": {"version": 1.0},
}
WISHES = ("Begin a tale, with a picture.", "Go on.", "End it.")


def command(folder: Path, url: str, *more: str) -> list[str]:
    """The command that plays one episode of three turns."""
    data = folder / "tasks" / "data"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "tasks" / "tale.yaml").write_text(json.dumps(EPISODE))
    asked = [{"role": "user", "content": wish} for wish in WISHES]
    row = {"id": "a", "input": asked, "reference": "Once <<image1>> upon"}
    (data / "test.jsonl").write_text(json.dumps(row) + "\n")
    given = ("model=m", f"base_url={url}", "outputs=text+image", *more)
    return [
        *("--tasks", str(folder / "tasks" / "tale.yaml")),
        *("--model", "gemini", "--model_args", ",".join(given)),
        *("--output_path", str(folder / "runs"), *QUIET),
    ]


def test_no_key_is_in_any_file_or_output(tmp_path: Path) -> None:
    key = "AIzaSyA-0123456789abcdefghijklmnopqrstu"
    (tmp_path / "key").write_text(key)
    with GeminiServer() as server:
        words = command(tmp_path, server.url, f"api_key_file={tmp_path / 'key'}")
        done = mmeval(*words)
        assert server.seen[0].headers["x-goog-api-key"] == key
    (tmp_path / "key").unlink()
    assert done.code == 0
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if key.encode() in path.read_bytes()] == []
    assert key not in done.out + done.err


def test_a_quota_of_the_day_ends_the_run_like_a_wrong_key(tmp_path: Path) -> None:
    violation = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}
    error = {"code": 429, "details": [{"violations": [violation]}]}
    with ScriptedServer(Scripted({"error": error}, 429)) as server:
        done = mmeval(*command(tmp_path, server.url.removesuffix("/v1")))
    assert (done.code, len(server.seen)) == (4, 1)
