"""Each recipe extracts the text of its digest from the authors' repositories.

``MMEVAL_RELEASED`` is a folder with clones, as ``mmeval prepare --prompts_from`` reads
them. Files of a repository that is not there are not tested.
"""

import hashlib
import os
from pathlib import Path

import pytest

from mmeval.task.released.cached import file_in
from mmeval.task.released.catalogue import ReleasedFile, read_catalogue
from mmeval.task.released.recipe import Recipe
from tests.soak.released.test_words import stored_windows
from tests.soak.released.words import window_digests

ROOT = Path(__file__).parents[3]
CLONES = Path(os.environ["MMEVAL_RELEASED"])


def files_here() -> dict[str, tuple[ReleasedFile, bytes]]:
    files = {}
    catalogues = [
        *ROOT.glob("tasks/*/released.yaml"),
        *ROOT.glob("model_backends/agents/*/released.yaml"),
    ]
    for catalogue in sorted(catalogues):
        for file in read_catalogue(catalogue).files:
            path = file_in(CLONES, file)
            if path is not None:
                name = f"{file.source.repository} {file.keys.path}"
                files[name] = (file, path.read_bytes())
    return files


FILES = files_here()


@pytest.mark.parametrize("name", FILES)
def test_a_released_file_has_the_digest_of_the_catalogue(name: str) -> None:
    file, content = FILES[name]
    assert file.keys.sha256 in (None, hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("name", FILES)
def test_each_recipe_extracts_the_text_of_its_digest(name: str) -> None:
    file, content = FILES[name]
    expected = {prompt.id: prompt.sha256 for prompt in file.keys.prompts}
    actual = {}
    for prompt in file.keys.prompts:
        text = Recipe(prompt.recipe).extract(content.decode())
        actual[prompt.id] = hashlib.sha256(text.encode()).hexdigest()
    assert actual == expected


@pytest.mark.parametrize("name", FILES)
def test_the_windows_of_a_released_prompt_are_stored(name: str) -> None:
    file, content = FILES[name]
    windows: set[bytes] = set()
    for prompt in file.keys.prompts:
        windows.update(window_digests(Recipe(prompt.recipe).extract(content.decode())))
    assert windows <= stored_windows()
