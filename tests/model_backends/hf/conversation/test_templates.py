from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import pytest

from mmeval.model_backends.hf.conversation.messages import Chat
from mmeval.model_backends.hf.conversation.templates import ChatTemplate
from mmeval.model_backends.hf.failures import RowError

LISTS = (
    "{% for m in messages %}<{{ m.role }}>{% for p in m.content %}"
    "{% if p.type == 'text' %}{{ p.text }}{% elif p.type == 'image' %}[image]{% endif %}{% endfor %}{% endfor %}"
)
TEXTS = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}"
PICTURES_FIRST = (
    "{% for m in messages %}<{{ m.role }}>{% for p in m.content if p.type == 'image' %}[image]{% endfor %}"
    "{% for p in m.content if p.type == 'text' %}{{ p.text }}{% endfor %}{% endfor %}"
)
FIRST_TEXT_ONLY = (
    "{% for m in messages %}<{{ m.role }}>"
    "{% for p in (m.content | selectattr('type', 'equalto', 'text') | list)[:1] %}{{ p.text }}{% endfor %}"
    "{% for p in m.content if p.type == 'image' %}[image]{% endfor %}{% endfor %}"
)
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ refuse('no system role') }}{% endif %}" + TEXTS
SYSTEM_LAST = (
    "{% set words = messages[0].content if messages[0].role == 'system' else '' %}"
    "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{% if loop.last %}{{ words }} {% endif %}"
    "{{ m.content }}{% endfor %}"
)
SYSTEM_LAST_OF_LISTS = SYSTEM_LAST.replace(
    "set words = messages[0].content", "set words = messages[0].content[0].text"
).replace(
    "{{ m.content }}",
    "{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% else %}[image]{% endif %}{% endfor %}",
)
SYSTEM_TEXT_REST_LISTS = "{% if messages[0].role == 'system' %}{{ messages[0].content | trim }}{% endif %}" + (
    LISTS.replace("in messages", "in messages if m.role != 'system'")
)
ONE_PICTURE = (
    "{% set ns = namespace(seen=false) %}{% for m in messages %}<{{ m.role }}>{% for p in m.content %}"
    "{% if p.type == 'text' %}{{ p.text }}{% elif not ns.seen %}[image]{% set ns.seen = true %}{% endif %}"
    "{% endfor %}{% endfor %}"
)


def refuse(words: str) -> None:
    raise jinja2.TemplateError(words)


def written(source: str) -> ChatTemplate:
    template = jinja2.Environment().from_string(source)

    def render(turns: Sequence[Mapping[str, Any]]) -> str:
        return template.render(messages=turns, refuse=refuse)

    return ChatTemplate(render)


def chat(*turns: tuple[str, list[str]]) -> Chat:
    """Messages by role and items: words, or ``*`` for a picture."""
    pictured = {"type": "image", "image": None}
    return Chat(
        tuple(
            {
                "role": role,
                "content": [dict(pictured) if word == "*" else {"type": "text", "text": word} for word in words],
            }
            for role, words in turns
        )
    )


USER = ("user", ["Who are you?"])
SYSTEM = ("system", ["Be kind."])
ANSWER = ("assistant", ["A dog."])
SHOWN = ("user", ["See", "*", "here"])

KEPT = {
    "lists": (
        LISTS,
        [SYSTEM, SHOWN, ANSWER, USER],
        "<system>Be kind.<user>See[image]here<assistant>A dog.<user>Who are you?",
    ),
    "plain texts": (TEXTS, [SYSTEM, USER], "<system>Be kind.<user>Who are you?"),
    "a system message before the last question": (
        SYSTEM_LAST,
        [SYSTEM, USER, ANSWER, USER],
        "<user>Who are you?<assistant>A dog.<user>Be kind. Who are you?",
    ),
    "the same with a picture before it": (
        SYSTEM_LAST_OF_LISTS,
        [SYSTEM, SHOWN, ANSWER, USER],
        "<user>See[image]here<assistant>A dog.<user>Be kind. Who are you?",
    ),
    "words about types": (
        TEXTS.replace("{{ m.content", "a {'type': number} {{ m.content"),
        [USER],
        "<user>a {'type': number} Who are you?",
    ),
    "a system message as text, the rest as lists": (
        SYSTEM_TEXT_REST_LISTS,
        [SYSTEM, SHOWN],
        "Be kind.<user>See[image]here",
    ),
    "one picture where one is written": (ONE_PICTURE, [SHOWN], "<user>See[image]here"),
}

DROPPED = {
    "a system message": (
        LISTS.replace("in messages", "in messages if m.role != 'system'"),
        [SYSTEM, USER],
        "the system message",
    ),
    "an answer": (
        TEXTS.replace("in messages", "in messages if m.role == 'user'"),
        [USER, ANSWER, USER],
        "the assistant message",
    ),
    "the second text": (FIRST_TEXT_ONLY, [SHOWN], "text 2 of the user message"),
    "the second picture": (ONE_PICTURE, [("user", ["*", "or", "*"])], "image 2 of the user message"),
    "a picture in an answer": (
        ONE_PICTURE,
        [SHOWN, ("assistant", ["*", "it"]), USER],
        "the image of the assistant message",
    ),
    "words that it cuts": (
        "{% for m in messages %}{{ m.content[:20] }}{% endfor %}",
        [("user", ["Who are you, and where do you come from?"])],
        "words of the user message",
    ),
}

REFUSED = {
    "a role that it does not know": (NO_SYSTEM, [SYSTEM, USER], "no system role"),
    "a picture in a template for texts": (TEXTS, [SHOWN], "made for plain texts"),
    "a message of which it takes the beginning": (
        "{% for m in messages %}{{ m.content[:3] }}{% endfor %}",
        [USER],
        "plain texts",
    ),
}


@pytest.mark.parametrize("case", KEPT)
def test_a_conversation_that_is_kept_is_written_as_the_template_writes_it(case: str) -> None:
    source, turns, text = KEPT[case]
    assert written(source).text(chat(*turns)) == (text, ())


@pytest.mark.parametrize("case", DROPPED)
def test_what_a_template_drops_is_named(case: str) -> None:
    source, turns, what = DROPPED[case]
    with pytest.raises(RowError, match=f"drops {what}") as caught:
        written(source).text(chat(*turns))
    assert caught.value.kind == "unsupported"


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_template_refuses_is_not_asked(case: str) -> None:
    source, turns, what = REFUSED[case]
    with pytest.raises(RowError, match=what) as caught:
        written(source).text(chat(*turns))
    assert caught.value.kind == "unsupported"


def test_a_picture_that_is_moved_is_warned_of_and_one_in_its_place_is_not() -> None:
    template = written(PICTURES_FIRST)
    assert template.text(chat(("user", ["*", "See"])))[1] == ()
    text, warnings = template.text(chat(SHOWN))
    assert text == "<user>[image]Seehere"
    assert warnings == (
        "the model's chat template puts the image of the user message in another place than the prompt does",
    )


def test_a_shape_is_tried_once_and_words_are_looked_for_every_time() -> None:
    rendered: list[int] = []
    template = jinja2.Environment().from_string(LISTS)

    def render(turns: Sequence[Mapping[str, Any]]) -> str:
        rendered.append(1)
        return template.render(messages=turns)

    checked = ChatTemplate(render)
    for _ in range(3):
        checked.text(chat(SHOWN))
    once = len(rendered)
    checked.text(chat(SHOWN))
    assert len(rendered) == once + 1


@pytest.mark.parametrize("source", ["", "hello", "{{ nothing }}", "{% for m in messages %}{{ m.role }}{% endfor %}"])
def test_a_template_that_writes_no_words_is_none(source: str) -> None:
    assert not written(source).takes_words()
    assert written(TEXTS).takes_words()
