"""What goes over the wire to a model: the instruction with its own media, and nothing that an answer is scored by."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from scripts.synthetic_media import BLUE, disc, png
from tests.support.cli import mmeval
from tests.support.scripted_server import ScriptedServer, saying

LABEL = "never to be shown"
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "mmmg_multi_view": ("i_consistency_3d_scene", {}),
    "mmmg_multi_angle": ("i_consistency_3d_object", {}),
    "mmmg_interleaved_object_adding": ("i_edit_add", {"bbox": [1, 2, 30, 40]}),
    "mmmg_interleaved_color_modifying": ("i_edit_color", {"bbox": [1, 2, 30, 40]}),
    "mmmg_interleaved_math": ("it_coherence_math", {"pattern": LABEL}),
    "mmmg_interleaved_code": ("it_coherence_code", {"object": LABEL}),
}
"""The tasks with pictures to compare with, each with its instruction file and a row's labels."""


def picture(number: int) -> bytes:
    return png(disc(10 + 3 * number, 32, 8, BLUE))


def sent(folder: Path, task: str, file: str, row: dict[str, Any]) -> list[str]:
    """The bodies of the requests that a task of one row makes."""
    images = folder / "seed_instruction" / "image"
    images.mkdir(parents=True)
    (images.parent / f"{file}.jsonl").write_text(json.dumps(row))
    for number in range(6):
        (images / f"{file}_{number}.png").write_bytes(picture(number))
    with ScriptedServer(saying(content="An answer.")) as server:
        model = ("--model", "openai", "--model_args", f"base_url={server.url},model=m,outputs=text+image")
        done = mmeval(
            "--tasks", task, "--data_dir", folder, *model, "--output_path", folder / "runs", "--report", "false"
        )
        assert "error" not in done.err, done.err
        return [request.body.decode() for request in server.seen]


@pytest.mark.parametrize("task", ROWS)
def test_only_the_paraphrase_and_the_given_pictures_are_sent(tmp_path: Path, task: str) -> None:
    file, labels = ROWS[task]
    given = [] if task == "mmmg_interleaved_code" else [0, 1]
    row = {
        "instruction": "The seed.",
        "instruction_para": "Draw it.",
        "image_list": given,
        "ref_image_list": [2, 3, 4, 5],
    }
    bodies = sent(tmp_path, task, file, row | labels)
    shown = [n for n in range(6) if any(base64.b64encode(picture(n)).decode() in body for body in bodies)]
    assert (len(bodies), shown) == (4, given)
    assert all("Draw it." in body for body in bodies)
    assert not any(secret in body for body in bodies for secret in ("The seed.", LABEL, "bbox"))
