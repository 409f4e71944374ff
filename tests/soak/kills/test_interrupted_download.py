import os
import signal
from pathlib import Path

import pytest

from tests.support.cli import environment, mmeval_process, started, wait_for
from tests.support.servers import FakeHub
from tests.support.task_folder import task, write_files
from tests.support.tiny_media import picture

COMMIT = "b" * 40
ROW = (
    b'{"input": "Look: <<image1>>", "reference": "oak", "media": {"image1": '
    b'"img/a.png"}}\n'
)
FILES = {"test.jsonl": ROW, "img/a.png": picture()}


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_download_goes_on_with_what_lacks(
    stop: signal.Signals, tmp_path: Path
) -> None:
    more = f"dataset_path: me/trees\nrevision: {COMMIT}\n"
    file = write_files(tmp_path, {"t.yaml": task("t", more)}) / "t.yaml"
    kept = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0", "NO_PROXY": "*"}
    with (
        FakeHub({"me/trees": {COMMIT: FILES}}, stalled=frozenset({"a.png"})) as slow,
        started(
            "prepare", file, env=environment(HF_ENDPOINT=slow.url, **kept), cwd=tmp_path
        ) as running,
    ):
        # os.walk passes over folders that go while it looks
        wait_for(
            lambda: any(
                "test.jsonl" in files
                for _, _, files in os.walk(tmp_path / "home" / "hub")
            ),
            "a first file",
        )
        wait_for(lambda: "img/a.png" in slow.fetched, "the second file")
        running.signal(stop)
        ended = running.ended()
    with FakeHub({"me/trees": {COMMIT: FILES}}) as hub:
        again = mmeval_process(
            "prepare", file, env=environment(HF_ENDPOINT=hub.url, **kept), cwd=tmp_path
        )

    assert (ended.code, ended.lines[-1].partition(";")[0]) == (130, "interrupted")
    assert (again.code, hub.fetched) == (0, ["img/a.png"]), again.err
