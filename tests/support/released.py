"""Stand-ins for released prompts, and what a model was sent of them."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmeval.task.released import chosen
from mmeval.task.released.cached import cached_path
from mmeval.task.released.catalogue import (
    Catalogue,
    FileKeys,
    PromptKeys,
    ReleasedFile,
    read_catalogue,
)
from mmeval.task.released.recipe import Recipe


def with_digests_of(catalogue: Path, clone: Path) -> None:
    """Writes the digests of the texts in a clone into a catalogue. Files that the clone
    does not have keep their digests."""
    document = yaml.safe_load(catalogue.read_text())
    for file in document["files"]:
        path = clone / file["path"]
        if not path.is_file():
            continue
        file.pop("sha256", None)
        for prompt in file["prompts"]:
            text = Recipe(prompt["recipe"]).extract(path.read_text())
            prompt["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    catalogue.write_text(yaml.safe_dump(document))


def named_media(folder: Path) -> dict[str, str]:
    """The names of the files in a folder, by their bytes in base64."""
    names = {}
    for file in folder.iterdir():
        names[base64.b64encode(file.read_bytes()).decode()] = file.name
    return names


def shown(messages: list[dict[str, Any]], names: dict[str, str]) -> list[Any]:
    """The role of each message and its items, in which a medium is its file's name."""
    rows: list[Any] = []
    for message in messages:
        content = message["content"]
        if isinstance(content, list):
            content = [_item(item, names) for item in content]
        rows.append((message["role"], content))
    return rows


def _item(item: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    kind = item["type"]
    if kind == "text":
        return item
    encoded = item[kind]["url"].rpartition(",")[2]
    return {**item, kind: {**item[kind], "url": names.get(encoded, "?")}}


def use_stand_ins(texts: Mapping[str, str], patch: pytest.MonkeyPatch) -> None:
    """Every prompt of every catalogue is the text that ``texts`` has for its id.

    A prompt without such a text consists of its id.
    """
    patch.setattr(
        chosen, "read_catalogue", lambda path: _stand_in(read_catalogue(path), texts)
    )


def _stand_in(catalogue: Catalogue, texts: Mapping[str, str]) -> Catalogue:
    files: list[ReleasedFile] = []
    for file in catalogue.files:
        for prompt in file.keys.prompts:
            files.append(_file(file, prompt, texts.get(prompt.id, prompt.id)))
    return replace(catalogue, files=tuple(files))


def _file(released: ReleasedFile, prompt: PromptKeys, text: str) -> ReleasedFile:
    """A file that consists of one text, in the cache."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    stand_in = PromptKeys(id=prompt.id, recipe="file", sha256=digest)
    keys = FileKeys(
        source=released.keys.source, path=f"{prompt.id}.txt", prompts=(stand_in,)
    )
    file = ReleasedFile(keys, released.source)
    path = cached_path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return file
