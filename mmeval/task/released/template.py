"""Makes the template of a judge's prompt from released texts in the cache."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmeval.errors import MissingDataError
from mmeval.task.released.cached import cached_path, content_of, released_text
from mmeval.task.released.catalogue import TEXT, Catalogue, TemplateKeys
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
    rendered = "".join(_pieces(text, keys, catalogue))
    for name in keys.after:
        rendered += _value(name)
    rendered = _with_edges(keys.user).replace(TEXT, rendered)
    if keys.system is None:
        return rendered
    system = _literal(_cached_text(keys.system, catalogue), keys)
    return f"[system]\n{system}\n[user]\n{rendered}"


def _pieces(text: str, keys: TemplateKeys, catalogue: Catalogue) -> Iterator[str]:
    """Yields the template of a text: literal pieces and fields in turn."""
    names = {field: list(values) for field, values in keys.fields.items()}
    known_fields = [*keys.fields, *keys.texts]
    if not known_fields:
        yield _literal(text, keys)
        return
    position = 0
    for match in re.finditer("|".join(map(re.escape, known_fields)), text):
        yield _literal(text[position : match.start()], keys)
        field = match[0]
        if field in keys.texts:
            yield _literal(_cached_text(keys.texts[field], catalogue), keys)
        elif len(names[field]) > 1:
            # each occurrence of a positional field has its own value
            yield _value(names[field].pop(0))
        else:
            yield _value(names[field][0])
        position = match.end()
    yield _literal(text[position:], keys)


def _value(name: str) -> str:
    return f"{{{{ {name} }}}}"


def _literal(text: str, keys: TemplateKeys) -> str:
    if _HEADING.search(text):
        raise RecipeError(f"{keys.prompt}: a line of the text would begin a message")
    if keys.doubled_braces:
        text = text.replace("{{", "{").replace("}}", "}")
    return _with_edges(_SPECIAL.sub(lambda match: _quoted(match[0]), text))


def _with_edges(template: str) -> str:
    """Returns a template that keeps the empty lines at its edges in a prompt file."""
    return _EDGE.sub(lambda match: _quoted(match[0]), template)


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
