"""Paths that data rows and task files name stay inside their root, whatever reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.contract import Dataset, DataSource
from mmeval.dataset.loaders import interleaved
from mmeval.errors import MmevalError
from mmeval.model_backends.openai.reply import medium
from mmeval.task.build import build
from mmeval.task.data import bundled_folder
from mmeval.task.file import parse_task
from mmeval.task.include import TaskFiles
from mmeval.tasks.mmmg import loader as mmmg
from mmeval.tasks.unim import loader as unim
from tests.support.task_folder import task, write_rows
from tests.support.unim_folder import unim_row, write_records

SECRET = "secret"
WORDS = "hidden words"
SUFFIXES = ("", ".jsonl", ".yaml", ".png")
WAYS = ("../out/secret", "{out}/secret", "link/secret", "file://{out}/secret", "..\\out\\secret", "../out/secret\0")
"""Ways to name the secret files in ``out``, which is beside the folder of the data; all are in the tests of the rule
itself, ``tests/mmeval/content/test_media.py``."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of data beside one with secrets, to which a link leads."""
    out, folder = tmp_path / "out", tmp_path / "data"
    for place in (out, folder, tmp_path / "data" / "a"):
        place.mkdir()
    for suffix in SUFFIXES:
        (out / f"{SECRET}{suffix}").write_text(json.dumps({"input": WORDS, "task": WORDS}))
    (folder / "link").symlink_to(out)
    return folder


def samples(data: Path, load: Callable[[DataSource], Dataset] = interleaved.load, **source: Any) -> str:
    """Everything that a data set holds, its media read."""
    found = list(load(DataSource("t", data, **source)))
    held = [message.content for sample in found for message in sample.input]
    held += [reference for sample in found for reference in sample.references]
    return f"{[sample.to_json() for sample in found]} {[item.read() for one in held for item in one.media()]}"


def row_media(data: Path, name: str) -> str:
    write_rows(data, {"input": "<<image1>>", "media": {"image1": f"{name}.png"}})
    return samples(data)


def row_part(data: Path, name: str) -> str:
    write_rows(data, {"input": [{"type": "image", "path": name}]})
    return samples(data)


def row_reference(data: Path, name: str) -> str:
    write_rows(data, {"input": "a", "reference": [{"type": "image", "path": name}]})
    return samples(data)


def parquet_path(data: Path, name: str) -> str:
    import pyarrow as arrow
    from pyarrow import parquet

    kind = arrow.struct([("bytes", arrow.binary()), ("path", arrow.string())])
    column = arrow.array([{"bytes": None, "path": name}], kind)
    parquet.write_table(arrow.table({"input": ["<<image1>>"], "image1": column}), data / "test.parquet")
    return samples(data)


def media_folder(data: Path, name: str) -> str:
    write_rows(data, {"input": "<<image1>>", "media": {"image1": f"{SECRET}.png"}})
    return samples(data, options={"media_folder": name.removesuffix("/secret").removesuffix("\\secret")})


def data_file(data: Path, name: str) -> str:
    return samples(data, options={"data_file": f"{name}.jsonl"})


def dataset_name(data: Path, name: str) -> str:
    return samples(data, name=name.removesuffix("/secret").removesuffix("\\secret"), split=SECRET)


def split(data: Path, name: str) -> str:
    return samples(data, split=name)


def split_link(data: Path, name: str) -> str:
    (data / "test.jsonl").symlink_to(data.parent / "out" / f"{SECRET}.jsonl")
    return samples(data)


def unim_medium(data: Path, name: str) -> str:
    write_records(data, unim_row(input={"modal": {"image1": f"{name}.png"}, "content": "<image1>"}))
    return samples(data, unim.load)


def unim_records(data: Path, name: str) -> str:
    out = write_records(data.parent / "out", unim_row(input={"modal": {}, "content": WORDS}))
    (data / "qapairs_placeholder").mkdir()
    (data / "qapairs_placeholder" / "a.jsonl").symlink_to(out)
    return samples(data, unim.load)


def mmmg_file(data: Path, name: str) -> str:
    return samples(data, mmmg.load, options={"file": name})


def mmmg_medium(data: Path, name: str) -> str:
    (data / "image").mkdir()
    (data / "image" / "a_0.png").symlink_to(data.parent / "out" / f"{SECRET}.png")
    (data / "a.jsonl").write_text(json.dumps({"instruction_para": "a", "image_list": [0]}))
    return samples(data, mmmg.load, options={"file": "a"})


def include(data: Path, name: str) -> str:
    file = data / "t.yaml"
    file.write_text(f"include: {json.dumps(f'{name}.yaml')}\ntask: t\n")
    return str(TaskFiles([data]).document(file).data)


def bundled(data: Path, name: str) -> str:
    file = data / "t.yaml"
    file.write_text(task("t", f"bundled: {json.dumps(name)}\n"))
    folder = bundled_folder(parse_task(TaskFiles([data]).document(file)))
    return "" if folder is None else str([path.read_text() for path in folder.iterdir() if path.is_file()])


def judge_prompt(data: Path, name: str) -> str:
    (data.parent / "out" / f"{SECRET}.md").write_text(f"{WORDS} {{{{ form }}}}")
    file = data / "t.yaml"
    written = {"metric": "judge_yes_no", "question": "polite?", "prompt": f"{name}.md"}
    metrics = f"metric_list: {json.dumps([written])}"
    file.write_text(f"task: t\nloader: interleaved\n{metrics}\nmetadata: {{version: 1}}\n")
    [metric] = build(parse_task(TaskFiles([data]).document(file))).metrics
    return str([prompt["text"] for prompt in metric.bound.prompts.values()])


def reply(data: Path, name: str) -> str:
    return str(medium({"image_url": {"url": name}}).read())


READERS: tuple[Callable[[Path, str], str], ...] = (
    *(row_media, row_part, row_reference, parquet_path, media_folder, data_file, dataset_name, split, split_link),
    *(unim_medium, unim_records, mmmg_file, mmmg_medium, include, bundled, judge_prompt, reply),
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_no_path_in_data_leads_out_of_its_root(reader: Callable[[Path, str], str], way: str, data: Path) -> None:
    try:
        found = reader(data, way.replace("{out}", str(data.parent / "out")))
    except MmevalError as error:
        assert str(error)
    else:
        assert WORDS not in found


def test_a_prompt_below_the_folder_of_its_task_file_is_read(data: Path) -> None:
    (data / "a" / "own.md").write_text("own {{ form }}")
    assert "own" in judge_prompt(data, "a/own")
