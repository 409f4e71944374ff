import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval.__main__ import main
from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, EXIT_USAGE
from tests.support.toy import picture

PICTURE = picture(7)


pytestmark = pytest.mark.usefixtures("toys")


def driven(
    folder: Path, capsys: pytest.CaptureFixture[str], *cases: Any
) -> tuple[int, list[dict[str, Any]]]:
    """The exit code, and the result of each case."""
    (folder / "a.png").write_bytes(PICTURE.read())
    (folder / "cases.jsonl").write_text(
        "".join(json.dumps(case) + "\n" for case in cases)
    )
    code = main(
        ["try", "agent", "toy_agent", "--cases", str(folder / "cases.jsonl"), "--json"]
    )
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_an_agent_is_driven_on_the_replies_of_a_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = {
        "id": "c",
        "prompt": "draw",
        "args": {"note": "n"},
        "replies": {
            "helper": ["<think>hm</think>a draft", "the best"],
            "text_to_image": [[{"type": "image", "path": "a.png"}]],
        },
    }
    code, (found,) = driven(tmp_path, capsys, case)
    assert (code, found["id"], found["answer"]) == (EXIT_OK, "c", "the best")
    assert found["evidence"] == {"note": "n", "request": "draw"}
    assert [part["type"] for part in found["parts"]] == ["text", "image"]
    assert found["parts"][1]["media"]["sha256"] == PICTURE.sha256
    keys = ("path", "role", "title", "text", "media", "options")
    assert [tuple(step[key] for key in keys) for step in found["steps"]] == [
        ("0", "helper", "draft", "draft: draw", [], {}),
        ("1", "helper", "better", "better: a draft", [], {}),
        ("2", "text_to_image", "draw", "the best", [], {}),
    ]


@pytest.mark.parametrize(
    ("replies", "error", "steps"),
    [
        ({"helper": ["a", {"error": "timeout"}]}, "timeout", 2),
        ({"helper": ["a"]}, "no_answer", 2),
        ({"helper": ["a", "b"], "text_to_image": None}, "unsupported", 0),
        ({"helper": ["a", "b"], "text_to_image": [{"error": "server"}]}, "server", 3),
    ],
)
def test_a_failure_has_its_kind_and_the_steps_before_it(
    replies: Mapping[str, Any],
    error: str,
    steps: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    case = {"prompt": "draw", "replies": replies, "wants": ["text", "image"]}
    code, (found,) = driven(tmp_path, capsys, case)
    assert (code, found["error"]["kind"]) == (EXIT_INCOMPLETE, error)
    assert len(found["steps"]) == steps


def test_a_tool_without_replies_gives_small_media_and_files_fill_the_prompt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [
        {"prompt": "see <image1>", "replies": {"helper": ["a", "b"]}},
        {"prompt": [{"type": "text", "text": "see"}]},
    ]
    _, (found, other) = driven(tmp_path, capsys, *cases)
    assert [part["type"] for part in found["parts"]] == ["text", "image"]
    assert found["steps"][0]["text"] == "draft: see <image1>"
    assert other["steps"][0]["text"] == "draft: see"
    file = str(tmp_path / "a.png")
    code = main(["try", "agent", "toy_agent", file, "--prompt", "see", "--json"])
    assert code == EXIT_INCOMPLETE
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "unsupported"


@pytest.mark.parametrize(
    ("case", "word"),
    [
        ([], "object"),
        ({"promt": "x"}, "promt"),
        ({"wants": ["picture"]}, "picture"),
        ({"args": {"rounds": 1}}, "rounds"),
        ({"args": {"note": ["x"]}}, "note"),
        ({"replies": {"planner": []}}, "planner"),
        ({"replies": {"helper": None}}, "helper"),
        ({"replies": {"helper": "yes"}}, "helper"),
        ({"replies": {"helper": [{"error": "late"}]}}, "late"),
        ({"replies": {"helper": [5]}}, "helper"),
        ({"files": ["gone.png"]}, "gone.png"),
    ],
)
def test_a_case_that_cannot_be_used_is_refused_with_its_line(
    case: Any, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cases.jsonl").write_text(f"\n{json.dumps(case)}\n")
    code = main(["try", "agent", "toy_agent", "--cases", str(tmp_path / "cases.jsonl")])
    said = capsys.readouterr().err
    assert code in (EXIT_USAGE, 4)
    assert word in said
    assert "jsonl:2" in said


def test_people_see_each_step_in_brief_without_the_instructions_of_its_prompt(
    capsys: pytest.CaptureFixture[str],
) -> None:
    prompt = "Draw a hare " + "at dusk " * 99
    assert main(["try", "agent", "mmmg_image_agent", "--prompt", prompt]) == 0
    lines = capsys.readouterr().out.partition("\nanswer: ")[0].splitlines()
    assert lines[0] == "0 planner (plan)" and lines[1].startswith(
        "  user: Draw a hare at dusk"
    )
    assert max(map(len, lines)) <= 80 and any(line.endswith("...") for line in lines)
