"""Released files of stand-in texts: a copied catalogue that has their digests."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import yaml

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
