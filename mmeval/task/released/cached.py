"""Released files in the cache, and the texts in them, checked by their digests."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mmeval.media.media import path_inside
from mmeval.system.folders import own_cache
from mmeval.system.plain_file import open_plain
from mmeval.task.released.catalogue import PromptKeys, ReleasedFile
from mmeval.task.released.recipe import Recipe, RecipeError

MAX_BYTES = 8_000_000


def prompts_folder() -> Path:
    """Returns the folder of released files in the cache. Raises StorageError."""
    return own_cache() / "prompts"


def cached_path(file: ReleasedFile) -> Path:
    """Returns the place of a released file in the cache.

    Raises UsageError for a path that leads out of its folder.
    """
    name = file.source.repository.replace("/", "+")
    folder = prompts_folder() / f"{name}@{file.commit}"
    return path_inside(folder, file.keys.path)


def file_in(folder: Path, file: ReleasedFile) -> Path | None:
    """Returns a released file in a clone, or in a folder of clones, if it is there.

    A clone in a folder is called OWNER/NAME, OWNER+NAME or NAME.
    """
    repository = file.source.repository
    plus = repository.replace("/", "+")
    for clone in (repository, plus, repository.partition("/")[2], "."):
        path = path_inside(folder / clone, file.keys.path)
        if path.is_file():
            return path
    return None


def content_of(path: Path) -> bytes:
    """Returns the bytes of a file.

    Raises OSError if the file cannot be read or is too large.
    """
    with open_plain(path) as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise OSError(f"it has more than {MAX_BYTES:,} bytes")
    return content


def released_text(prompt: PromptKeys, content: bytes) -> str:
    """Returns the text of a prompt in the content of its file.

    Raises RecipeError if the file does not contain the text, or if the text has another
    digest.
    """
    try:
        text = Recipe(prompt.recipe).extract(content.decode())
    except UnicodeDecodeError:
        raise RecipeError("the file is not UTF-8 text") from None
    actual = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if actual != prompt.sha256:
        raise RecipeError(
            f"the text has the SHA-256 {actual[:12]}..., not {prompt.sha256[:12]}..."
        )
    return text
