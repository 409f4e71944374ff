"""Contents that metrics alone see: in records, scores, samples and the page, and in no
request of a real run."""

import base64
from pathlib import Path
from typing import Any

import pytest

import mmeval as library
from mmeval import plugins
from mmeval.records.trial import Trial
from mmeval.report.page import write_report
from tests.support import tiny_media
from tests.support.cli import QUIET, mmeval, openai, results
from tests.support.mock_openai_server import MockServer
from tests.support.readers import Report, read_samples
from tests.support.task_folder import write_rows

TASK = """\
task: maze
loader: interleaved
dataset_path: data
prompt: "{{ level }}: {{ input }}"
prompt_fields: [level]
metric_list:
  - metric: seen
metadata: {version: 1}
"""
WRONG = tiny_media.picture(size=(5, 7))


def seen(trial: Trial) -> float:
    """How many media the candidates have."""
    return sum(len(content.media()) for content in trial.sample.candidates)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    library.register_metric("seen", range=(0, 9))(seen)
    candidates: list[Any] = [
        "secretly this",
        [{"type": "image", "path": "wrong_one.png"}],
    ]
    asked: dict[str, Any] = {
        "input": "Which <<image1>>?",
        "media": {"image1": "asked.png"},
        "level": "easy",
    }
    gone = [[{"type": "image", "path": "gone.png"}]]
    rows = [{**asked, "candidates": candidates}, {**asked, "candidates": gone}]
    data = write_rows(tmp_path / "data", *rows)
    (data / "asked.png").write_bytes(tiny_media.picture(size=(9, 9)))
    (data / "wrong_one.png").write_bytes(WRONG)
    (tmp_path / "maze.yaml").write_text(TASK)
    return tmp_path


def test_candidates_reach_metrics_records_and_the_page_and_no_request(
    folder: Path,
) -> None:
    bodies: list[bytes] = []
    with MockServer(reply="one") as server:
        admit = server.state.admit

        def recorded(path: str, key: str, body: bytes) -> Any:
            bodies.append(body)
            return admit(path, key, body)

        server.state.admit = recorded
        flags = (
            "--tasks",
            folder / "maze.yaml",
            "--output_path",
            folder / "runs",
            *QUIET,
        )
        done = mmeval(*flags, *openai(server, inputs="text+image"), "--log_samples")
    assert done.code == 3, done.err
    assert any('candidates[0][0] "gone.png" is missing' in line for line in done.lines)
    (sent,) = bodies
    assert b"easy: Which" in sent and b"image_url" in sent
    words = (b"secret", b"wrong_one", b"candidate", base64.b64encode(WRONG))
    assert [word for word in words if word in sent] == []
    assert results(folder / "runs")["results"]["maze"]["seen,none"] == 1
    (kept, _) = read_samples(next((folder / "runs").rglob("samples_*.jsonl")))
    assert kept["doc"]["candidates"][0] == [{"type": "text", "text": "secretly this"}]
    page = write_report(
        [next((folder / "runs").rglob("run.json")).parent], folder / "page"
    ).page
    (shown, bad) = Report(page.parent).trials
    assert [parts[0]["kind"] for parts in shown["candidates"]] == ["text", "image"]
    assert "candidates" not in bad
