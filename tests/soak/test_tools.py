"""An agent that asks tools: parts keep their order, calls of several samples share batches, nothing is asked twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.cli import DEADLINE, ROOT, mmeval_process
from tests.support.illustrator import batches, illustrated, write_shown
from tests.support.tiny_models import tiny_model

TOOLS = IMAGE, SPEECH = ("text_to_image", "text_to_speech")
QUESTIONS = ("a hare", "a tortoise", "the race", "the end")


def command(folder: Path, *, noted: bool = True) -> list[str]:
    """The flags of a run whose tools note their batches in files of their names."""
    tasks = write_shown(folder / "tasks", QUESTIONS)
    image, speech = f"pretrained={tiny_model('sd')}", f"pretrained={tiny_model('vits')}"
    if noted:
        roles = [f"noted_diffusers,{image},log={folder / IMAGE}", f"noted_hf,{speech},log={folder / SPEECH}"]
    else:
        roles = [f"diffusers,{image}", f"hf,{speech}"]
    return [
        *("--tasks", str(tasks / "shown.yaml"), "--model", "illustrator", "--log_samples"),
        *("--output_path", str(folder / "runs")),
        *("--role", f"{IMAGE}={roles[0]}", "--role", f"{SPEECH}={roles[1]}"),
    ]


def answers(folder: Path) -> list[list[str]]:
    """The kinds of the parts of each answer."""
    newest = max(folder.glob("runs/*/*/samples_shown_*.jsonl"))
    answers = [json.loads(line)["parts"][0] for line in newest.read_text().splitlines()]
    return [[part["type"] for part in answer] for answer in answers]


def kept(folder: Path, tool: str) -> int:
    """How many answers of a tool the journal holds."""
    lines = (line for file in folder.glob("runs/*/*/journal/*.jsonl") for line in file.read_text().splitlines())
    return sum(json.loads(line).get("to", [""])[:1] == [tool] for line in lines)


def asked(folder: Path, tool: str) -> list[str]:
    """What a tool was asked so far, in order of the words."""
    return sorted(text for batch in batches(folder / tool) for text in batch)


def killed_at(point: str, count: int, arguments: list[str], env: dict[str, str]) -> int:
    child = [sys.executable, "-m", "tests.support.dying", point, str(count), *arguments]
    return subprocess.run(child, env=env, cwd=ROOT, capture_output=True, timeout=DEADLINE).returncode


def test_what_tools_make_stands_where_the_agent_put_it(tmp_path: Path) -> None:
    done = mmeval_process(*command(tmp_path, noted=False), env=illustrated(tmp_path / "site"))

    assert done.code == 0, done.err
    assert answers(tmp_path) == [["text", "image", "text", "audio"]] * len(QUESTIONS)


def test_a_tool_that_nobody_plays_is_named_with_the_flag_that_names_a_player(tmp_path: Path) -> None:
    done = mmeval_process(*command(tmp_path)[:-4], env=illustrated(tmp_path / "site"))

    assert done.code == 3
    assert "--role text_to_image=BACKEND" in done.err


def test_calls_of_several_samples_share_a_batch_of_a_tool(tmp_path: Path) -> None:
    done = mmeval_process(*command(tmp_path), env=illustrated(tmp_path / "site"))

    assert done.code == 0, done.err
    for tool in TOOLS:
        assert asked(tmp_path, tool) == sorted(QUESTIONS)
        assert len(batches(tmp_path / tool)) < len(QUESTIONS)


def test_an_agent_that_is_killed_between_two_tools_repeats_nothing_that_was_kept(tmp_path: Path) -> None:
    env, arguments = illustrated(tmp_path / "site"), [*command(tmp_path), "--batch_size", "1"]

    died = killed_at("line", 2, arguments, env)
    before = {tool: (kept(tmp_path, tool), len(asked(tmp_path, tool))) for tool in TOOLS}
    done = mmeval_process(*arguments, env=env)

    assert (died, done.code) == (-signal.SIGKILL, 0), done.err
    assert sum(answered for answered, _ in before.values()) == 2
    for tool, (answered, noted) in before.items():
        assert len(asked(tmp_path, tool)) - noted == len(QUESTIONS) - answered
    assert answers(tmp_path) == [["text", "image", "text", "audio"]] * len(QUESTIONS)
