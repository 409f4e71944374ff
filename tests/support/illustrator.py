"""A scripted agent that shows and says what it is asked, and tools that note every batch; plugins for a process of its
own.

    illustrated(folder)  ->  the environment in which ``illustrator``, ``noted_diffusers`` and ``noted_hf`` are known
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.backend.capabilities import Capabilities
from mmeval.backend.tool import load_tool
from mmeval.content.parts import text_part
from mmeval.model_backends.diffusers import DiffusersBackend
from mmeval.model_backends.hf import HFBackend
from mmeval.program.calls import Program, Role, ask_one
from mmeval.records import Request, Response, answered
from tests.support.cli import ROOT, environment
from tests.support.task_folder import task, write_distribution, write_files, write_rows
from tests.support.toy import asked_text

PLUGINS = """
[mmeval.model_backends]
illustrator = tests.support.illustrator:Illustrator
noted_diffusers = tests.support.illustrator:NotedDiffusers
noted_hf = tests.support.illustrator:NotedHF
"""


class Illustrator:
    """Words of its own, then a picture of what is asked, then more words, then what is asked as speech."""

    capabilities = Capabilities.of(("text",), ("text", "image", "audio"))
    identity: Mapping[str, Any] = {"backend": "illustrator"}
    provenance: Mapping[str, Any] = {}

    def program(self, request: Request, role: Callable[[str], Role]) -> Program[Response]:
        asked = asked_text(request)
        drawn = yield from ask_one(load_tool("text_to_image").call(asked, size="32x32", steps=1))
        spoken = yield from ask_one(load_tool("text_to_speech").call(asked))
        return answered(
            (text_part("Look: "), *drawn.require().parts, text_part(" And listen: "), *spoken.require().parts)
        )

    async def close(self) -> None:
        pass


class _Noted:
    """Notes in the file ``log`` what the rows of each batch are asked."""

    def __init__(self, *, log: str, **given: Any) -> None:
        super().__init__(**given)
        self._log = Path(log)

    def generate_batch(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        with self._log.open("a") as notes:
            notes.write(json.dumps([asked_text(request) for request in requests]) + "\n")
        yield from super().generate_batch(requests)  # type: ignore[misc]  # beside a backend


class NotedDiffusers(_Noted, DiffusersBackend):
    pass


class NotedHF(_Noted, HFBackend):
    pass


def illustrated(folder: Path) -> dict[str, str]:
    """The environment of a process that knows the plugins; their distribution is written to the folder."""
    write_distribution(folder, "dist-illustrator", PLUGINS)
    return environment(PYTHONPATH=f"{folder}:{ROOT}")


def write_shown(folder: Path, questions: Sequence[str]) -> Path:
    """The task ``shown`` of some questions. Returns its folder."""
    rows = ({"id": str(i), "input": text, "reference": "<<image1>><<audio1>>"} for i, text in enumerate(questions))
    write_rows(folder / "data", *rows)
    more = "dataset_path: data\noutput_modalities: [text, image, audio]\n"
    return write_files(folder, {"shown.yaml": task("shown", more).replace("exact_match", "strict_structure")})


def batches(log: Path) -> list[list[str]]:
    """What each batch was asked, in order."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
