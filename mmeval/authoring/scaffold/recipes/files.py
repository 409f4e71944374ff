"""The templates of a worker that is written from a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from mmeval.authoring.scaffold.recipes.facts import Recipe

PROTOCOL_LINE = "# --- mmeval's part"
"""The start of the line in ``serve.py`` below which the protocol's part begins."""
_SERVE = "serve.py.jinja"


def with_recipe(
    templates: Iterator[tuple[str, str]], recipe: Recipe
) -> Iterator[tuple[str, str]]:
    """Yields the templates of a worker, changed for a recipe's model.

    Each template is its path and its text. The protocol's part of ``serve.py`` stays.
    """
    folder = files("mmeval.authoring.scaffold.recipes")
    written = {item.name: item for item in folder.joinpath("files").iterdir()}
    for path, text in templates:
        if path == _SERVE:
            model = folder.joinpath("models", f"{recipe.name}.py.jinja")
            parts = [folder.joinpath("head.py.jinja"), model]
            parts.append(folder.joinpath("common.py.jinja"))
            own = "".join(part.read_text(encoding="utf-8") for part in parts)
            yield path, own + text[text.index(PROTOCOL_LINE) :]
        elif path not in written:
            yield path, text
    for path, item in sorted(written.items()):
        yield path, item.read_text(encoding="utf-8")
