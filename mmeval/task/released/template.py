"""Makes the template of a judge's prompt from released texts in the cache."""

from __future__ import annotations

import re

from mmeval.errors import MissingDataError
from mmeval.task.released.cached import cached_path, content_of, released_text
from mmeval.task.released.catalogue import Catalogue, TemplateKeys
from mmeval.task.released.recipe import RecipeError

_HOW_TO_FIX = "Run 'mmeval prepare TASK --prompts'."
_HEADING = re.compile(r"^\[(system|user)\][ \t]*$", re.MULTILINE)
_EDGE = re.compile(r"\A\n+|\n+\Z")
_SPECIAL = re.compile(r"[{}\r]")
"""Characters that a template would read as its own, or would change."""


def template_of(keys: TemplateKeys, catalogue: Catalogue) -> str:
    """Returns a template that renders released texts exactly, with values as fields.

    Raises MissingDataError if a text is not in the cache, or differs from the
    catalogue.
    """
    texts = [_cached_text(prompt_id, catalogue) for prompt_id in keys.ids]
    text = keys.between.join(texts)
    fields = {field: list(names) for field, names in keys.fields.items()}
    if not fields:
        return _literal(text, keys)
    pattern = "|".join(map(re.escape, fields))
    pieces: list[str] = []
    position = 0
    for match in re.finditer(pattern, text):
        names = fields[match[0]]
        # a positional field has a name for each occurrence
        name = names.pop(0) if len(names) > 1 else names[0]
        pieces += (text[position : match.start()], name)
        position = match.end()
    pieces.append(text[position:])
    parts: list[str] = []
    for index, piece in enumerate(pieces):
        parts.append(f"{{{{ {piece} }}}}" if index % 2 else _literal(piece, keys))
    return "".join(parts)


def _literal(text: str, keys: TemplateKeys) -> str:
    if _HEADING.search(text):
        raise RecipeError(f"{keys.prompt}: a line of the text would begin a message")
    if keys.doubled_braces:
        text = text.replace("{{", "{").replace("}}", "}")
    text = _SPECIAL.sub(lambda match: _quoted(match[0]), text)
    # a prompt file drops the empty lines at its edges
    return _EDGE.sub(lambda match: _quoted(match[0]), text)


def _quoted(text: str) -> str:
    escaped = text.replace("\n", r"\n").replace("\r", r"\r")
    return f"{{{{ '{escaped}' }}}}"


def _cached_text(prompt_id: str, catalogue: Catalogue) -> str:
    file, prompt = catalogue.find(prompt_id)
    path = cached_path(file)
    try:
        return released_text(prompt, content_of(path))
    except OSError:
        raise MissingDataError(
            f"the released prompt {prompt_id} is not in the cache ({path})",
            name=prompt_id,
            how_to_fix=_HOW_TO_FIX,
        ) from None
    except RecipeError as error:
        raise MissingDataError(
            f"the released prompt {prompt_id} in {path} cannot be used: {error}",
            name=prompt_id,
            how_to_fix=_HOW_TO_FIX,
        ) from None
