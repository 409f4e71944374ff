"""An agent that asks tools: parts keep their order, and calls of several samples share batches."""

import json
from pathlib import Path

from tests.support.cli import mmeval_process
from tests.support.illustrator import batches, illustrated, write_shown
from tests.support.tiny_models import tiny_model

TOOLS = IMAGE, SPEECH = ("text_to_image", "text_to_speech")
QUESTIONS = ("a hare", "a tortoise", "the race", "the end")


def command(folder: Path) -> list[str]:
    """The flags of a run whose tools note their batches in files of their names."""
    tasks = write_shown(folder / "tasks", QUESTIONS)
    image = f"noted_diffusers,pretrained={tiny_model('sd')},log={folder / IMAGE}"
    speech = f"noted_hf,pretrained={tiny_model('vits')},log={folder / SPEECH}"
    return [
        *("--tasks", str(tasks / "shown.yaml"), "--model", "illustrator", "--log_samples"),
        *("--output_path", str(folder / "runs"), "--role", f"{IMAGE}={image}", "--role", f"{SPEECH}={speech}"),
    ]


def answers(folder: Path) -> list[list[str]]:
    """The kinds of the parts of each answer."""
    newest = max(folder.glob("runs/*/*/samples_shown_*.jsonl"))
    found = [json.loads(line)["parts"][0] for line in newest.read_text().splitlines()]
    return [[part["type"] for part in answer] for answer in found]


def asked(folder: Path, tool: str) -> list[str]:
    return sorted(text for batch in batches(folder / tool) for text in batch)


def test_what_tools_make_stands_in_its_place_and_calls_of_several_samples_share_a_batch(tmp_path: Path) -> None:
    env = illustrated(tmp_path / "site")
    without = mmeval_process(*command(tmp_path)[:-4], "--output_path", tmp_path / "without", env=env)
    done = mmeval_process(*command(tmp_path), env=env)
    assert (without.code, "--role text_to_image=BACKEND" in without.err, done.code) == (3, True, 0), done.err
    assert answers(tmp_path) == [["text", "image", "text", "audio"]] * len(QUESTIONS)
    for tool in TOOLS:
        assert asked(tmp_path, tool) == sorted(QUESTIONS)
        assert len(batches(tmp_path / tool)) < len(QUESTIONS)
