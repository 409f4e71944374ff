"""Makes the template of a prompt from released texts in the cache."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmeval.errors import MissingDataError
from mmeval.task.released.cached import cached_path, content_of, released_text
from mmeval.task.released.catalogue import (
    Catalogue,
    MessageKeys,
    TemplateKeys,
    TextChoiceKeys,
    is_text,
    is_value,
    written_words,
)
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
    messages = keys.messages
    if len(messages) == 1 and messages[0].role == "user":
        return _message(messages[0], keys, catalogue)
    sections: list[str] = []
    for message in messages:
        content = _message(message, keys, catalogue)
        sections.append(f"[{message.role}]\n{content}")
    return "\n".join(sections)


def _message(message: MessageKeys, keys: TemplateKeys, catalogue: Catalogue) -> str:
    """Returns the template of a message, which renders nothing if it is not sent."""
    content = ""
    for piece in message.pieces:
        if is_text(piece):
            text = _cached_text(piece, catalogue)
            content += "".join(_pieces(text, keys, catalogue))
        elif is_value(piece):
            content += _value(piece)
        else:
            content += _quoted_text(written_words(piece))
    if message.when is not None:
        content = f"{{% if {message.when} %}}{content}{{% endif %}}"
    if message.unless is not None:
        content = f"{{% if not {message.unless} %}}{content}{{% endif %}}"
    return content


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
            yield _inserted(keys.texts[field], catalogue)
        elif len(names[field]) > 1:
            # each occurrence of a positional field has its own value
            yield _value(names[field].pop(0))
        else:
            yield _value(names[field][0])
        position = match.end()
    yield _literal(text[position:], keys)


def _inserted(text: str | TextChoiceKeys, catalogue: Catalogue) -> str:
    """Returns the template of a text that a field of another text names."""
    if isinstance(text, str):
        return _quoted_text(_cached_text(text, catalogue))
    when_set = _quoted_text(_cached_text(text.set, catalogue))
    otherwise = _quoted_text(_cached_text(text.unset, catalogue))
    return f"{{% if {text.value} %}}{when_set}{{% else %}}{otherwise}{{% endif %}}"


def _value(name: str) -> str:
    return f"{{{{ {name} }}}}"


def _literal(text: str, keys: TemplateKeys) -> str:
    if keys.doubled_braces:
        text = text.replace("{{", "{").replace("}}", "}")
    return _quoted_text(text)


def _quoted_text(text: str) -> str:
    if _HEADING.search(text):
        raise RecipeError("a line of a released text would begin a message")
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
