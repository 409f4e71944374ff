import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.__main__ import main
from mmeval.authoring.metric_cases import MetricCase, trial_of
from mmeval.media.parts import PartKind
from tests.support.task_folder import installed, write_files

PNG = b"\x89PNG\r\n\x1a\n"


MODULE = """
from mmeval.metric.contract import metric
from mmeval.records.score import Score

@metric(range=(0, 99), version="1", source="a test", outputs=("words", "media"))
def sizes(trial, *, fail=False):
    media = Score.unscored("asked to fail", bounds=(0, 3)) if fail else len(trial.output.media())
    return {"words": len(trial.output.words.split()), "media": media}

@metric(range=(0, 1), version="1", source="a test")
def judged(trial, judge):
    yield judge.ask("well?")
"""


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed distribution with metrics of its own."""
    write_files(tmp_path / "site", {"someones_metrics.py": MODULE})
    entries = "".join(
        f"{name} = someones_metrics:{name}\n" for name in ("sizes", "judged")
    )
    with installed(
        tmp_path / "site",
        monkeypatch,
        {"someones": {}},
        more=f"[mmeval.metrics]\n{entries}",
    ):
        yield
    sys.modules.pop("someones_metrics", None)


def cases(folder: Path, *rows: Any) -> Path:
    file = folder / "cases.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def tried(metric: str, *words: str | Path) -> int:
    return main(["try", "metric", metric, *map(str, words)])


def results(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_params_profile_and_metadata_reach_the_metric(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["--answer", " <image_start><image_0><image_end>", "--json"]
    given += ["--params", '{"order_key": "o"}', "--metadata", '{"o": "ti"}']
    assert tried("part_order", *given) == 0
    assert tried("part_order", *given, "--profile", "official") == 0
    assert [row["value"] for row in results(capsys)] == [0.0, 1.0]


@pytest.mark.usefixtures("plugged")
def test_files_are_media_of_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(PNG)
    parts = json.dumps(
        [{"type": "text", "text": "two words"}, {"type": "image", "path": str(picture)}]
    )
    tried("sizes", picture, picture, "--json")
    tried("sizes", picture, "--json", "--answer", "one <<image1>>")
    tried("sizes", picture, "--json", "--answer", parts)
    outputs = [row["outputs"] for row in results(capsys)]
    assert [row["words"]["value"] for row in outputs] == [0, 1, 2]
    assert [row["media"]["value"] for row in outputs] == [2, 1, 2]


@pytest.mark.usefixtures("plugged")
def test_paths_of_cases_start_from_their_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    file = cases(
        tmp_path,
        {"id": 1, "files": ["a.png"]},
        {"files": ["gone.png"]},
        {"name": "last", "answer": "x"},
    )
    code = tried("sizes", "--cases", file)
    first, second, third = results(capsys)
    assert (code, first["id"], first["outputs"]["media"]["value"]) == (3, 1, 1.0)
    assert (second["status"], second["value"]) == ("unscored", None)
    assert f"{tmp_path / 'gone.png'}: " in second["reason"]
    assert (third["name"], third["value"]) == ("last", 1.0)


@pytest.mark.usefixtures("plugged")
def test_one_unscored_output_of_several_exits_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ("--answer", "x", "--params", '{"fail": true}')
    assert tried("sizes", *given, "--json") == 3
    (row,) = results(capsys)
    assert row["status"] == "scored"
    assert row["outputs"]["media"]["reason"] == "asked to fail"
    tried("sizes", *given)
    assert "between 0 and 3\n" in capsys.readouterr().out


def test_a_target_is_one_reference_or_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = {"type": "text", "text": "b"}
    targets: list[Any] = ["b", ["a", "b"], [[part]], [part], []]
    rows = [{"answer": "b", "target": target} for target in targets]
    tried("exact_match", "--cases", cases(tmp_path, *rows))
    assert [row["value"] for row in results(capsys)] == [1, 1, 1, 1, None]


def test_a_case_has_candidates_each_a_content(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    case = MetricCase(
        answer="x", candidates=("a", [{"type": "image", "path": "a.png"}])
    )
    made = trial_of(case, tmp_path).sample.candidates
    assert [[part.kind for part in content.parts] for content in made] == [
        ["text"],
        ["image"],
    ]


def test_a_case_whose_candidate_is_missing_is_unscored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[Any] = [["b"], [[{"type": "image", "path": "gone.png"}]], "b"]
    rows = [
        {"answer": "b", "target": "b", "candidates": candidates} for candidates in given
    ]
    assert tried("exact_match", "--cases", cases(tmp_path, *rows[:2])) == 3
    assert [row["value"] for row in results(capsys)] == [1, None]
    assert tried("exact_match", "--cases", cases(tmp_path, rows[2])) == 2


@pytest.mark.usefixtures("plugged")
def test_a_judged_metric_needs_its_judge(capsys: pytest.CaptureFixture[str]) -> None:
    assert tried("judged", "--answer", "x") == 2
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)


@pytest.mark.parametrize(
    ("looks_at", "name", "content", "part"),
    [
        ("document", "page.png", PNG, ("document", None)),
        ("code", "a.py", b"print(1)", ("code", None)),
        ("text", "a.txt", b"A hare.", ("text", "A hare.")),
        ("text", "page.png", PNG, ("image", None)),
        (None, "a.py", b"print(1)", ("document", None)),
    ],
    ids=["a page", "code", "text", "a picture is no text", "a metric of any kind"],
)
def test_files_are_parts_of_the_kind_that_the_metric_looks_at(
    looks_at: PartKind | None,
    name: str,
    content: bytes,
    part: tuple[str, str | None],
    tmp_path: Path,
) -> None:
    (tmp_path / name).write_bytes(content)
    output = trial_of(MetricCase(files=(name,)), tmp_path, looks_at).output
    assert output is not None
    assert [(one.kind, one.text) for one in output.parts] == [part]
