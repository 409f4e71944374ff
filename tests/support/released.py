"""Stand-ins for released prompts: a catalogue with the texts of a test in the cache."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

import pytest

from mmeval.task.released import chosen
from mmeval.task.released.cached import cached_path
from mmeval.task.released.catalogue import (
    Catalogue,
    FileKeys,
    PromptKeys,
    ReleasedFile,
    read_catalogue,
)


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
