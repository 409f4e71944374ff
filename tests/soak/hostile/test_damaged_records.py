"""Files of a run folder that are damaged, or changed into other JSON: named, left out,
made or asked again."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Ended, mmeval, openai, results, run_folder
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer
from tests.support.task_folder import write_rows

TASK = (
    "task: greet\ndataset_path: data\nmetric_list:\n  - metric: rubric_judge\n"
    "metadata: {version: 1}\n"
)
FILES = {
    name: f"{name}/**/*.jsonl" if "." not in name else f"**/{name}"
    for name in (
        "journal",
        "samples",
        "trials",
        "scores.jsonl",
        "verdicts.jsonl",
        "run.json",
        "results_*.json",
    )
}


def _shorter(text: bytes) -> bytes:
    row = json.loads(text)
    return json.dumps({name: row[name] for name in list(row)[1:]}).encode()


def _wrong_digit(text: bytes) -> bytes:
    """Other digests, times and values, in sound JSON."""
    return text.translate(bytes.maketrans(b"12345678", b"23456781"))


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a field less": _shorter,
    "nothing in it": lambda _: b"{}",
    "a number": lambda _: b"7",
    "a list": lambda text: b"[" + text + b"]",
    "null": lambda _: b"null",
    "a wrong digit": _wrong_digit,
}


@pytest.fixture(scope="module")
def servers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[MockServer, MockServer]]:
    with (
        MockServer() as model,
        judge_server(tmp_path_factory.mktemp("judge")) as judging,
    ):
        yield model, judging


@pytest.fixture(scope="module")
def whole(
    servers: tuple[MockServer, MockServer], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run of three samples with a judge, which has ended well."""
    folder = tmp_path_factory.mktemp("whole")
    write_rows(
        folder / "data",
        *({"input": f"Greet guest {i}.", "rubric": ["It greets."]} for i in range(3)),
    )
    (folder / "greet.yaml").write_text(TASK)
    assert run(folder, servers).code == 0
    return folder


def run(folder: Path, servers: tuple[MockServer, MockServer]) -> Ended:
    where = ("--tasks", folder / "greet.yaml", "--output_path", folder / "runs")
    return mmeval(
        *where,
        *openai(servers[0]),
        *judge(servers[1]),
        "--score_workers",
        "0",
        cwd=folder,
    )


def damaged(folder: Path, file: str, change: Callable[[bytes], bytes]) -> str:
    """Change the second line of a file, or all of a document; returns the place in the
    run folder."""
    stored = run_folder(folder / "runs")
    path = max(stored.glob(FILES[file]))
    place = str(path.relative_to(stored))
    if path.suffix == ".json":
        path.write_bytes(change(path.read_bytes()))
        return place
    lines = path.read_bytes().splitlines()
    lines[1] = change(lines[1])
    path.write_bytes(b"\n".join(lines) + b"\n")
    return f"{place}:2"


def number(folder: Path) -> Any:
    return results(folder)["results"]["greet"]["rubric_judge,none"]


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("file", FILES)
def test_what_is_damaged_is_named_by_every_command_and_the_run_makes_it_again(
    file: str,
    change: Callable[[bytes], bytes],
    servers: tuple[MockServer, MockServer],
    whole: Path,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    place, stored = damaged(folder, file, change), run_folder(folder / "runs")
    replayed = (
        "--model",
        "replay",
        "--model_args",
        f"path={stored}",
        "--predict_only",
        "-o",
        tmp_path / "replayed",
    )
    readers = [
        mmeval("report", stored),
        mmeval("export", stored, "--format", "unim", "-o", tmp_path / "exported"),
        mmeval(*replayed, "--tasks", folder / "greet.yaml", cwd=folder),
        mmeval("score", stored, *judge(servers[1])),
    ]
    asked = servers[0].stats()["requests"]
    again = run(folder, servers)

    for done in (*readers, again):
        assert done.code in (0, 2, 3), done.err
        assert "unexpected" not in done.err
    if file == "run.json":
        assert [(done.code, place in done.error) for done in (*readers, again)] == [
            (2, True)
        ] * 5
        return
    assert any(place in done.err for done in readers), [done.err for done in readers]
    lost = file in ("journal", "samples", "trials")
    assert [done.code for done in (readers[0], readers[-1])] == [
        3 if lost else 2 if file == "results_*.json" else 0,
        3 * lost,
    ]
    assert (again.code, number(folder), servers[0].stats()["requests"] - asked) == (
        0,
        number(whole),
        1 if file == "journal" else 0,
    )
    assert mmeval("report", stored).code == 0
