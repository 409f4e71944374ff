"""``mmeval prepare`` against a hub on a local port, and later runs without one."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import Ended, environment, mmeval
from tests.support.servers import FakeHub, Files, at_hub
from tests.support.task_folder import task, write_files
from tests.support.tiny_media import picture

OLD, NEW = "a" * 40, "b" * 40
PNG = picture()
ROWS = [
    {
        "id": "1",
        "input": "Look: <<image1>>",
        "reference": "oak",
        "media": {"image1": "img/a.png"},
        "level": "easy",
    },
    {"id": "2", "input": "Which?", "reference": "ash", "level": "hard"},
]
FILES: Files = {
    "test.jsonl": "".join(f"{json.dumps(row)}\n" for row in ROWS).encode(),
    "img/a.png": PNG,
}


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub({"me/trees": {OLD: FILES, NEW: FILES}}) as it:
        yield it


def write_task(
    folder: Path, more: str = "", name: str = "trees", data: str = "me/trees"
) -> Path:
    text = task(name, f"dataset_path: {data}\n{more}")
    return write_files(folder, {f"{name}.yaml": text}) / f"{name}.yaml"


def prepare(
    hub: FakeHub | str, folder: Path, *words: str | Path, offline: str = ""
) -> Ended:
    url = hub if isinstance(hub, str) else hub.url
    env = environment(HF_HUB_OFFLINE=offline, HF_HOME=str(folder / "home"))
    with at_hub(url, folder / "home", offline=bool(offline)):
        return mmeval("prepare", *words, env=env, cwd=folder)


def run(folder: Path, *words: str | Path) -> Ended:
    """A run of the task without the hub."""
    with at_hub("", folder / "home", offline=True):
        model = ("--model", "reference", "--score_workers", "0")
        return mmeval("--tasks", *words, *model, cwd=folder)


def states(done: Ended) -> dict[str, tuple[bool, list[str]]]:
    """Of each task whether it is ready, and the numbers that are shown of it."""
    found = re.findall(
        r"^((?:not )?ready)  ([^:\n]*)(?:: (.*))?$", done.out, re.MULTILINE
    )
    return {
        name: (state == "ready", re.findall(r"\d+", counts))
        for state, name, counts in found
    }


def test_what_was_prepared_runs_without_the_hub(hub: FakeHub, tmp_path: Path) -> None:
    file = write_task(tmp_path, f"revision: {OLD}\n")
    done = prepare(hub, tmp_path, file)
    assert (done.code, states(done)) == (0, {"trees": (True, ["2", "2", "1"])})
    assert done.out.endswith("tasks ready: 1 of 1\n")
    assert NEW not in done.out
    assert {path.name for path in tmp_path.iterdir()} == {file.name, "home"}, (
        "only the cache is written to"
    )
    assert run(tmp_path, file).code == 0


def test_a_dry_run_fetches_nothing(hub: FakeHub, tmp_path: Path) -> None:
    assert prepare(hub, tmp_path, write_task(tmp_path), "--dry_run").code == 0
    assert (hub.fetched, list((tmp_path / "home").rglob("test.jsonl"))) == ([], [])
    failed = prepare(hub, tmp_path, write_task(tmp_path, data="me/absent"), "--dry_run")
    assert (failed.code, "me/absent" in failed.out) == (4, True)


def test_a_data_set_of_two_tasks_is_fetched_once_and_again_where_it_is_deleted(
    hub: FakeHub, tmp_path: Path
) -> None:
    tasks = [
        write_task(tmp_path),
        write_task(tmp_path, "filter: {level: hard}\n", "hard"),
    ]
    first = prepare(hub, tmp_path, *tasks)
    asked = [path for path in hub.paths if "/resolve/" in path]
    assert states(first)["hard"] == (True, ["1", "2", "1"])
    assert prepare(hub, tmp_path, *tasks).code == 0
    assert {*hub.fetched} == {*FILES}
    assert [path for path in hub.paths if "/resolve/" in path] == asked
    (picture,) = (tmp_path / "home").rglob("a.png")
    picture.write_bytes(bytes(len(PNG)))
    done = prepare(hub, tmp_path, *tasks)
    assert done.code == 1
    shown = " ".join(done.out.replace("\\\n", "").split())
    assert f"rm {picture.resolve()}" in shown
    picture.resolve().unlink()
    assert prepare(hub, tmp_path, *tasks).code == 0


def test_a_data_dir_is_fetched_into_unless_it_holds_the_data_set(
    hub: FakeHub, tmp_path: Path
) -> None:
    file = write_task(tmp_path)
    done = prepare(hub, tmp_path, file, "--data_dir", "data")
    assert (done.code, run(tmp_path, file, "--data_dir", "data").code) == (0, 0)
    assert (tmp_path / "data/me/trees/img/a.png").read_bytes() == PNG
    assert not list((tmp_path / "home").rglob("*.png"))
    asked = len(hub.fetched)
    assert prepare(hub, tmp_path, file, "--data_dir", "data").code == 0
    assert len(hub.fetched) == asked
    for name, content in FILES.items():
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_bytes(content)
    before = len(hub.paths)
    assert prepare(hub, tmp_path, file, "--data_dir", "mine").code == 0
    assert len(hub.paths) == before


def test_a_hub_that_is_not_asked_leaves_what_is_here_to_be_checked(
    hub: FakeHub, tmp_path: Path
) -> None:
    file = write_task(tmp_path)
    prepare(hub, tmp_path, file)
    for url, variable, reason in (
        (hub.url, "1", "HF_HUB_OFFLINE"),
        ("http://127.0.0.1:9", "", "cannot be reached"),
    ):
        done = prepare(url, tmp_path, file, offline=variable)
        assert (done.code, reason in done.out) == (0, True), done.out


@pytest.mark.parametrize(
    "flags", [(), ("--data_dir", "mine")], ids=["no folder yet", "a folder"]
)
def test_what_is_fetched_by_hand_is_looked_for_where_it_belongs(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    (tmp_path / "mine").mkdir()
    by_hand = "by_hand:\n  - {path: gold, source: a page, note: a form}\n"
    file = write_files(tmp_path, {"t.yaml": task("t", by_hand)}) / "t.yaml"
    assert prepare("", tmp_path, file, *flags).code == 4
    rows = '{"input": "q", "reference": "a"}\n'
    write_files(tmp_path / "mine" if flags else tmp_path, {"test.jsonl": rows})
    noted = prepare("", tmp_path, file, *flags)
    assert (noted.code, "fetch gold by hand" in noted.out) == (0, True)
    (tmp_path / "mine" / "gold" if flags else tmp_path / "gold").touch()
    assert "gold" not in prepare("", tmp_path, file, *flags).out


def test_a_data_set_that_cannot_be_had_does_not_stop_the_other_tasks(
    hub: FakeHub, tmp_path: Path
) -> None:
    write_files(tmp_path / "rows", {"test.jsonl": '{"input": "q", "reference": "a"}\n'})
    done = prepare(
        hub,
        tmp_path,
        write_task(tmp_path, data="me/absent"),
        write_task(tmp_path, name="here", data="rows"),
    )
    assert (done.code, states(done)) == (
        4,
        {"trees": (False, []), "here": (True, ["1", "1"])},
    )
    assert "  data  trees  me/absent at main: the hub has no such data set" in done.out


def test_what_several_tasks_lack_is_reported_once_and_bundled_samples_need_no_preparation(
    tmp_path: Path,
) -> None:
    done = prepare("", tmp_path, "mmmg_format")
    assert list(states(done).values()) == [(False, [])] * 2
    assert " ".join(done.out.split()).count("fetch seed_instruction by hand") == 1
    assert mmeval("prepare", "mmmg", "--data", "bundled").code == 2


def test_two_groups_without_a_hub_fit_a_few_lines(tmp_path: Path) -> None:
    done = prepare("", tmp_path, "unim_hard", "mmmg_audio", offline="1")
    lines = done.out.splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 80


def test_many_tasks_are_listed_on_demand(tmp_path: Path) -> None:
    words = ("mmmg_audio", "--verbosity", "DEBUG")
    done = prepare("", tmp_path, *words, offline="1")
    assert len(states(done)) == 8


def test_data_behind_a_hub_that_is_off_have_one_finding(tmp_path: Path) -> None:
    done = prepare("", tmp_path, write_task(tmp_path), offline="1")
    assert done.out.count("me/trees") == 2  # where it is off, and that it has no commit
