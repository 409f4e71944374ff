"""Paths that data rows and task files name stay inside their root, whatever reads
them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import Dataset, DataSource
from mmeval.dataset.loaders import interleaved
from mmeval.errors import MmevalError
from mmeval.model_backends.wire.replies.answer import AnswerReader
from mmeval.task.build import build
from mmeval.task.data import bundled_folder
from mmeval.task.file import parse_task
from mmeval.task.include import TaskFiles
from mmeval.tasks.mmmg import loader as mmmg
from mmeval.tasks.unim import loader as unim
from tests.support.task_folder import task, write_rows
from tests.support.unim import unim_row, write_records

WORDS = "hidden words"
# all ways: tests/mmeval/media/test_media.py
WAYS = ("../out/secret", "{out}/secret", "link/secret")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of data beside one with secrets, to which a link leads."""
    out, folder = tmp_path / "out", tmp_path / "data"
    for place in (out, folder / "a", folder / "image", folder / "qapairs_placeholder"):
        place.mkdir(parents=True)
    for suffix in ("", ".jsonl", ".yaml", ".png"):
        (out / f"secret{suffix}").write_text(
            json.dumps({"input": WORDS, "task": WORDS})
        )
    (out / "secret.md").write_text(f"{WORDS} {{{{ form }}}}")
    (folder / "link").symlink_to(out)
    return folder


def samples(
    data: Path, load: Callable[[DataSource], Dataset] = interleaved.load, **source: Any
) -> str:
    """Everything that a data set holds, its media read."""
    found = list(rows_of(load(DataSource("t", data, **source))))
    held = [message.content for sample in found for message in sample.input]
    held += [reference for sample in found for reference in sample.references]
    return (
        f"{[sample.to_json() for sample in found]} "
        f"{[item.read() for one in held for item in one.media()]}"
    )


def of_row(data: Path, row: Any, **source: Any) -> str:
    write_rows(data, row)
    return samples(data, **source)


def parquet_path(data: Path, name: str) -> str:
    import pyarrow as arrow
    from pyarrow import parquet

    kind = arrow.struct([("bytes", arrow.binary()), ("path", arrow.string())])
    column = arrow.array([{"bytes": None, "path": name}], kind)
    parquet.write_table(
        arrow.table({"input": ["<<image1>>"], "image1": column}), data / "test.parquet"
    )
    return samples(data)


def split_link(data: Path, name: str) -> str:
    (data / "test.jsonl").symlink_to(data.parent / "out" / "secret.jsonl")
    return samples(data)


def unim_medium(data: Path, name: str) -> str:
    write_records(
        data,
        unim_row(input={"modal": {"image1": f"{name}.png"}, "content": "<image1>"}),
    )
    return samples(data, unim.load)


def unim_records(data: Path, name: str) -> str:
    out = write_records(
        data.parent / "out", unim_row(input={"modal": {}, "content": WORDS})
    )
    (data / "qapairs_placeholder" / "a.jsonl").symlink_to(out)
    return samples(data, unim.load)


def in_a_reply(_data: Path, name: str) -> str:
    reader = AnswerReader()
    reader.picture({"image_url": {"url": name}})
    return str([medium.read() for medium in reader.answer().media()])


def mmmg_medium(data: Path, name: str) -> str:
    (data / "image" / "a_0.png").symlink_to(data.parent / "out" / "secret.png")
    (data / "a.jsonl").write_text(
        json.dumps({"instruction_para": "a", "image_list": [0]})
    )
    return samples(data, mmmg.load, options={"file": "a"})


def document(data: Path, text: str) -> Any:
    (data / "t.yaml").write_text(text)
    return TaskFiles([data]).document(data / "t.yaml")


def bundled(data: Path, name: str) -> str:
    folder = bundled_folder(
        parse_task(document(data, task("t", f"bundled: {json.dumps(name)}\n")))
    )
    return (
        ""
        if folder is None
        else str([path.read_text() for path in folder.iterdir() if path.is_file()])
    )


def judge_prompt(data: Path, name: str) -> str:
    metric = json.dumps(
        [{"metric": "judge_yes_no", "question": "polite?", "prompt": f"{name}.md"}]
    )
    text = (
        f"task: t\nloader: interleaved\nmetric_list: {metric}\nmetadata: {{version: "
        f"1}}\n"
    )
    [built] = build(parse_task(document(data, text))).metrics
    return str([prompt["text"] for prompt in built.bound.prompts.values()])


ONE = {"input": "<<image1>>"}
READERS: dict[str, Callable[[Path, str], str]] = {
    "row media": lambda data, name: of_row(
        data, ONE | {"media": {"image1": f"{name}.png"}}
    ),
    "row reference": lambda data, name: of_row(
        data, {"input": "a", "reference": [{"type": "image", "path": name}]}
    ),
    "media folder": lambda data, name: of_row(
        data,
        ONE | {"media": {"image1": "secret.png"}},
        options={"media_folder": name.removesuffix("/secret")},
    ),
    "data file": lambda data, name: samples(
        data, options={"data_file": f"{name}.jsonl"}
    ),
    "data set": lambda data, name: samples(
        data, name=name.removesuffix("/secret"), split="secret"
    ),
    **{
        "split": lambda data, name: samples(data, split=name),
        "split link": split_link,
        "parquet": parquet_path,
    },
    **{
        "unim medium": unim_medium,
        "unim records": unim_records,
        "mmmg medium": mmmg_medium,
        "bundled": bundled,
    },
    "mmmg file": lambda data, name: samples(data, mmmg.load, options={"file": name}),
    "include": lambda data, name: str(
        document(data, f"include: {json.dumps(f'{name}.yaml')}\ntask: t\n").data
    ),
    **{
        "prompt": judge_prompt,
        "reply": in_a_reply,
    },
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reader", READERS)
def test_no_path_in_data_leads_out_of_its_root(
    reader: str, way: str, data: Path
) -> None:
    try:
        assert WORDS not in READERS[reader](
            data, way.replace("{out}", str(data.parent / "out"))
        )
    except MmevalError as error:
        assert str(error)


def test_a_prompt_below_the_folder_of_its_task_file_is_read(data: Path) -> None:
    (data / "a" / "own.md").write_text("own {{ form }}")
    assert "own" in judge_prompt(data, "a/own")
