"""An agent that asks tools: parts keep their order, and calls of several samples share
batches."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mmeval.backend import Tool
from mmeval.backend.agent import AgentProgram, agent
from mmeval.media import Interleaved, text_part
from mmeval.model_backends.diffusers import DiffusersBackend
from mmeval.model_backends.hf import HFBackend
from mmeval.program import ask_one
from mmeval.records import Request, Response
from tests.support.cli import ROOT, environment, mmeval_process
from tests.support.models import tiny_model
from tests.support.task_folder import task, write_distribution, write_files, write_rows
from tests.support.toy import asked_text

TOOLS = IMAGE, SPEECH = ("text_to_image", "text_to_speech")
QUESTIONS = ("a hare", "a tortoise", "the race", "the end")
PLUGINS = """
[mmeval.model_backends]
illustrator = tests.soak.models.test_tools:illustrator
noted_diffusers = tests.soak.models.test_tools:NotedDiffusers
noted_hf = tests.soak.models.test_tools:NotedHF
"""


@agent(takes=("text",), gives=("text", "image", "audio"), version="1")
def illustrator(
    request: Request,
    text_to_image: Tool | None = None,
    text_to_speech: Tool | None = None,
) -> AgentProgram:
    """Words of its own, then a picture of what is asked, then more words, then what is
    asked as speech."""
    assert text_to_image is not None and text_to_speech is not None
    asked = asked_text(request)
    drawn = yield from ask_one(text_to_image.call(asked, size="32x32", steps=1))
    spoken = yield from ask_one(text_to_speech.call(asked))
    return Interleaved(
        (
            text_part("Look: "),
            *drawn.require().parts,
            text_part(" And listen: "),
            *spoken.require().parts,
        )
    )


class _Noted:
    """Notes in the file ``log`` what the rows of each batch are asked."""

    def __init__(self, *, log: str, **given: Any) -> None:
        super().__init__(**given)
        self._log = Path(log)

    def generate_batch(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, Response]]:
        with self._log.open("a") as notes:
            notes.write(
                json.dumps([asked_text(request) for request in requests]) + "\n"
            )
        yield from super().generate_batch(requests)  # type: ignore[misc]  # beside a backend


class NotedDiffusers(_Noted, DiffusersBackend):
    pass


class NotedHF(_Noted, HFBackend):
    pass


def write_shown(folder: Path, questions: Sequence[str]) -> Path:
    """The task ``shown`` of some questions. Returns its folder."""
    rows = (
        {"id": str(i), "input": text, "reference": "<<image1>><<audio1>>"}
        for i, text in enumerate(questions)
    )
    write_rows(folder / "data", *rows)
    more = "dataset_path: data\noutput_modalities: [text, image, audio]\n"
    return write_files(
        folder,
        {"shown.yaml": task("shown", more).replace("exact_match", "strict_structure")},
    )


def batches(log: Path) -> list[list[str]]:
    """What each batch was asked, in order."""
    return (
        [json.loads(line) for line in log.read_text().splitlines()]
        if log.exists()
        else []
    )


def command(folder: Path) -> list[str]:
    """The flags of a run whose tools note their batches in files of their names."""
    tasks = write_shown(folder / "tasks", QUESTIONS)
    image = f"noted_diffusers,pretrained={tiny_model('sd')},log={folder / IMAGE}"
    speech = f"noted_hf,pretrained={tiny_model('vits')},log={folder / SPEECH}"
    return [
        "--tasks",
        str(tasks / "shown.yaml"),
        "--model",
        "illustrator",
        "--log_samples",
        "--output_path",
        str(folder / "runs"),
        "--role",
        f"{IMAGE}={image}",
        "--role",
        f"{SPEECH}={speech}",
    ]


def answers(folder: Path) -> list[list[str]]:
    """The kinds of the parts of each answer."""
    newest = max(folder.glob("runs/*/*/samples_shown_*.jsonl"))
    found = [json.loads(line)["parts"][0] for line in newest.read_text().splitlines()]
    return [[part["type"] for part in answer] for answer in found]


def asked(folder: Path, tool: str) -> list[str]:
    return sorted(text for batch in batches(folder / tool) for text in batch)


def test_what_tools_make_stands_in_its_place_and_calls_of_several_samples_share_a_batch(
    tmp_path: Path,
) -> None:
    write_distribution(tmp_path / "site", "dist-illustrator", PLUGINS)
    env = environment(PYTHONPATH=f"{tmp_path / 'site'}:{ROOT}")
    without = mmeval_process(
        *command(tmp_path)[:-4], "--output_path", tmp_path / "without", env=env
    )
    done = mmeval_process(*command(tmp_path), env=env)
    assert (
        without.code,
        "--role text_to_image=BACKEND" in " ".join(without.out.split()),
        done.code,
    ) == (3, True, 0), done.err
    assert answers(tmp_path) == [["text", "image", "text", "audio"]] * len(QUESTIONS)
    for tool in TOOLS:
        assert asked(tmp_path, tool) == sorted(QUESTIONS)
        assert len(batches(tmp_path / tool)) < len(QUESTIONS)
