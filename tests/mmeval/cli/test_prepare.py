"""``mmeval prepare`` against a hub on a local port, and later runs without one."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.prepare.sources import sources, wanted
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.task.task import TaskOverrides
from tests.support.cli import Ended, environment, mmeval, started, wait_for
from tests.support.fake_hub import FakeHub, Files
from tests.support.task_folder import write_files
from tests.support.tiny_media import picture

OLD, NEW = "a" * 40, "b" * 40
PNG = picture()
ROWS = [
    {"id": "1", "input": "Look: <<image1>>", "reference": "oak", "media": {"image1": "img/a.png"}, "level": "easy"},
    {"id": "2", "input": "Which?", "reference": "ash", "level": "hard"},
]
FILES: Files = {"test.jsonl": "".join(f"{json.dumps(row)}\n" for row in ROWS).encode(), "img/a.png": PNG}
TASK = """\
task: {name}
dataset_path: me/trees
metric_list:
  - metric: exact_match
metadata: {{version: 1}}
"""


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub({"me/trees": {OLD: FILES, NEW: FILES}, "me/gated": {NEW: FILES}}, gated=frozenset({"me/gated"})) as it:
        yield it


def write_task(folder: Path, more: str = "", name: str = "trees") -> Path:
    return write_files(folder, {f"{name}.yaml": TASK.format(name=name) + more}) / f"{name}.yaml"


def variables(hub_url: str, folder: Path, **more: str) -> dict[str, str]:
    settings = {"HF_ENDPOINT": hub_url, "HF_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "0", "NO_PROXY": "*"}
    return environment(**{**settings, **more})


def prepare(hub: FakeHub, folder: Path, *words: str | Path, **more: str) -> Ended:
    return mmeval("prepare", *words, env=variables(hub.url, folder, **more), cwd=folder)


def test_what_was_prepared_runs_without_the_hub(hub: FakeHub, tmp_path: Path) -> None:
    task = write_task(tmp_path, f"revision: {OLD}\n")

    done = prepare(hub, tmp_path, task)
    hub.paths.clear()
    run = mmeval(
        "--tasks", task, "--model", "reference", env=variables(hub.url, tmp_path, HF_HUB_OFFLINE="1"), cwd=tmp_path
    )

    assert (done.code, run.code) == (0, 0), done.err + run.err
    assert "ready  trees: 2 of 2 rows; media: 1 image file" in done.out
    assert "may move" not in done.out
    assert hub.paths == []


def test_sizes_are_said_first_and_a_dry_run_ends_there(hub: FakeHub, tmp_path: Path) -> None:
    done = prepare(hub, tmp_path, write_task(tmp_path), "--dry_run")

    total = sum(map(len, FILES.values()))
    assert done.code == 0, done.err
    assert f"  commit {NEW}: 2 files, {total} B" in done.out
    assert f"to fetch: 2 files, {total} B, into {tmp_path / 'home'}" in done.out
    assert f"note: main may move; to pin what was found, write revision: {NEW}" in done.out
    assert hub.fetched == []
    assert not list((tmp_path / "home").rglob("test.jsonl"))


def test_what_is_here_is_not_fetched_again_and_one_data_set_of_two_tasks_once(hub: FakeHub, tmp_path: Path) -> None:
    tasks = [write_task(tmp_path), write_task(tmp_path, "filter: {level: hard}\n", "hard")]

    first = prepare(hub, tmp_path, *tasks)
    asked = [path for path in hub.paths if "/resolve/" in path]
    again = prepare(hub, tmp_path, *tasks)

    assert (first.code, again.code) == (0, 0), first.err
    assert "ready  hard: 1 of 2 rows" in first.out
    assert len({*asked}) == len(FILES)
    assert [path for path in hub.paths if "/resolve/" in path] == asked
    assert "to fetch: nothing, all of it is here" in again.out


def test_only_the_cache_is_written_to(hub: FakeHub, tmp_path: Path) -> None:
    task = write_task(tmp_path)
    prepare(hub, tmp_path, task)

    assert {path.name for path in tmp_path.iterdir()} == {task.name, "home"}


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_download_goes_on_with_what_lacks(stop: signal.Signals, tmp_path: Path) -> None:
    task = write_task(tmp_path, f"revision: {NEW}\n")
    with (
        FakeHub({"me/trees": {NEW: FILES}}, stalled=frozenset({"a.png"})) as slow,
        started("prepare", task, env=variables(slow.url, tmp_path), cwd=tmp_path) as running,
    ):
        wait_for(lambda: bool(list((tmp_path / "home").rglob("snapshots/*/test.jsonl"))), "the first file")
        wait_for(lambda: "img/a.png" in slow.fetched, "the second file")
        running.signal(stop)
        ended = running.ended()
    with FakeHub({"me/trees": {NEW: FILES}}) as hub:
        again = prepare(hub, tmp_path, task)

    assert ended.code == 130, ended.err
    assert ended.lines[-1].startswith("interrupted; the files that were fetched whole are kept")
    assert (again.code, hub.fetched) == (0, ["img/a.png"]), again.err


def test_a_disk_that_is_too_small_is_told_before_anything_is_fetched(tmp_path: Path) -> None:
    with FakeHub({"me/trees": {NEW: FILES}}, sizes={"img/a.png": 10**18}) as hub:
        done = prepare(hub, tmp_path, write_task(tmp_path))

    assert done.code == 4
    assert done.error.startswith("909,494.7 TiB are to be fetched, and the disk of")
    assert hub.fetched == []


def test_a_file_that_was_damaged_in_the_cache_is_named(hub: FakeHub, tmp_path: Path) -> None:
    task = write_task(tmp_path)
    prepare(hub, tmp_path, task)
    (picture,) = (tmp_path / "home").rglob("a.png")
    picture.write_bytes(bytes(len(PNG)))

    done = prepare(hub, tmp_path, task)

    assert done.code == 4
    assert "a.png: its content is not that of the hub" in done.out
    assert "not ready  trees" in done.out


@pytest.mark.parametrize(
    ("expected", "fault"),
    [
        ("{rows: 2, samples: 2, media: {image: 1}}", ""),
        ("{rows: 3}", "2 rows are there, the task file expects 3"),
        ("{media: {image: 4}}", "1 image file is there, the task file expects 4"),
        ("{media: {image: 1, audio: 4}}", "0 audio files are there, the task file expects 4"),
        (f"{{files: {{test.jsonl: '{'0' * 64}'}}}}", "its content is not what the task file expects"),
        (f"{{files: {{gone.txt: '{'0' * 64}'}}}}", "gone.txt: it is missing"),
    ],
    ids=["as expected", "rows", "one file", "media", "digest", "a file"],
)
def test_what_the_task_file_expects_is_compared(hub: FakeHub, tmp_path: Path, expected: str, fault: str) -> None:
    done = prepare(hub, tmp_path, write_task(tmp_path, f"expected: {expected}\n"))

    assert done.code == (4 if fault else 0)
    assert fault in done.out


def test_a_data_dir_is_fetched_into_and_then_used(hub: FakeHub, tmp_path: Path) -> None:
    task = write_task(tmp_path)
    done = prepare(hub, tmp_path, task, "--data_dir", "data")
    hub.paths.clear()
    run = mmeval("--tasks", task, "--model", "reference", "--data_dir", "data", env=environment(), cwd=tmp_path)

    assert (done.code, run.code) == (0, 0), done.out + run.err
    assert (tmp_path / "data/me/trees/img/a.png").read_bytes() == PNG
    assert not list((tmp_path / "home").rglob("*.png"))


def test_a_data_set_that_a_folder_holds_already_is_checked_and_not_fetched(hub: FakeHub, tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_bytes(content)

    done = prepare(hub, tmp_path, write_task(tmp_path), "--data_dir", "mine")

    assert (done.code, hub.paths) == (0, []), done.out


def test_a_damaged_file_is_fetched_again_when_it_is_deleted_as_told(hub: FakeHub, tmp_path: Path) -> None:
    task = write_task(tmp_path)
    prepare(hub, tmp_path, task)
    (picture,) = (tmp_path / "home").rglob("a.png")
    picture.write_bytes(bytes(len(PNG)))
    told = prepare(hub, tmp_path, task).out

    Path(told.partition("; delete ")[2].partition(" and run")[0]).unlink()

    assert prepare(hub, tmp_path, task).code == 0


def test_a_hub_that_is_out_of_reach_is_said_and_what_is_here_is_checked(hub: FakeHub, tmp_path: Path) -> None:
    task = write_task(tmp_path)
    prepare(hub, tmp_path, task)

    done = prepare(hub, tmp_path, task, HF_ENDPOINT="http://127.0.0.1:9")

    assert done.code == 0, done.err
    assert "local files are checked: me/trees at main: the hub cannot be reached; check the network" in done.out


def test_a_data_dir_that_is_a_file_is_refused(tmp_path: Path) -> None:
    task = write_task(tmp_path)

    done = mmeval("prepare", task, "--data_dir", task, cwd=tmp_path)

    assert (done.code, done.error.endswith("it is a file; name a folder")) == (2, True)


def test_a_medium_that_lacks_is_named_with_its_row(tmp_path: Path) -> None:
    write_files(tmp_path / "rows", {"test.jsonl": FILES["test.jsonl"].decode()})
    task = write_task(tmp_path)
    task.write_text(task.read_text().replace("me/trees", "rows"))

    done = mmeval("prepare", task, cwd=tmp_path)

    assert done.code == 4
    assert 'row 1: media image1 "img/a.png" is missing' in done.out


BY_HAND = "by_hand:\n  - {path: gold, source: the page of the authors, note: a form has to be filled in}\n"


@pytest.mark.parametrize(
    ("flags", "where"),
    [((), "name that folder with --data_dir FOLDER"), (("--data_dir", "mine"), "and put it at mine/gold")],
    ids=["no folder yet", "a folder"],
)
def test_what_is_fetched_by_hand_is_told_with_its_place(tmp_path: Path, flags: tuple[str, ...], where: str) -> None:
    (tmp_path / "mine").mkdir()
    task = write_task(tmp_path, BY_HAND)
    task.write_text(task.read_text().replace("dataset_path: me/trees\n", ""))

    done = mmeval("prepare", task, *flags, cwd=tmp_path)

    assert done.code == 4
    assert "gold is fetched by hand: take the page of the authors (a form has to be filled in)" in done.out
    assert where in done.out


@pytest.mark.parametrize(
    ("repo", "more", "message"),
    [
        ("me/absent", {}, "the hub has no such data set"),
        ("me/gated", {}, "the data set is gated; accept its terms on its page, then set HF_TOKEN"),
        ("me/trees", {"HF_HUB_OFFLINE": "1"}, "it is not here and HF_HUB_OFFLINE is set"),
        ("me/trees", {"HF_ENDPOINT": "http://127.0.0.1:9"}, "the hub cannot be reached"),
    ],
    ids=["absent", "gated", "offline", "no network"],
)
def test_a_data_set_that_cannot_be_had_is_told_and_the_other_tasks_are_prepared(
    hub: FakeHub, tmp_path: Path, repo: str, more: dict[str, str], message: str
) -> None:
    task = write_task(tmp_path)
    task.write_text(task.read_text().replace("me/trees", repo))
    write_files(tmp_path / "rows", {"test.jsonl": '{"input": "q", "reference": "a"}\n'})
    here = write_task(tmp_path, name="here")
    here.write_text(here.read_text().replace("me/trees", "rows"))

    done = prepare(hub, tmp_path, task, here, **more)

    assert done.code == 4
    assert message in done.out
    assert "ready  here: 1 of 1 rows" in done.out
    assert "Traceback" not in done.err


def test_what_several_tasks_lack_is_told_once(tmp_path: Path) -> None:
    done = mmeval("prepare", "mmmg_format", cwd=tmp_path)

    lines = done.out.splitlines()
    assert lines[:3] == [
        "not ready  mmmg_region_fill",
        "not ready  mmmg_border_fill",
        "of mmmg_region_fill, mmmg_border_fill:",
    ]
    assert done.out.count("seed_instruction is fetched by hand") == 1


def test_weights_that_metrics_take_files_of_are_one_source() -> None:
    chosen = choose(["mmmg_voice_attribution", "mmmg_multilingual_speech"], TaskIndex())
    found = sources(wanted(chosen, TaskOverrides()), weights=True)

    (whisper,) = [source for source in found if source.repo == "openai/whisper-large-v3"]
    assert found[whisper] == ["mmmg_voice_attribution", "mmmg_multilingual_speech"]
    assert {"config.json", "model.safetensors|pytorch_model.bin"} <= set(whisper.only)


def test_bundled_samples_are_said_to_need_no_preparation() -> None:
    done = mmeval("prepare", "mmmg", "--data", "bundled")

    assert done.code == 2
    assert "unknown flag --data: prepare has none, since bundled samples need no preparation" in done.err
