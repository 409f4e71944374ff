from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import pytest

from mmeval.model_backends.hf.conversation.messages import Chat
from mmeval.model_backends.hf.conversation.templates import ChatTemplate
from mmeval.model_backends.hf.failures import RowError

LISTS = (
    "{% for m in messages %}<{{ m.role }}>{% for p in m.content %}"
    "{% if p.type == 'text' %}{{ p.text }}{% elif p.type == 'image' %}[image]{% endif "
    "%}{% endfor %}{% endfor %}"
)
TEXTS = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}"
PICTURES_FIRST = (
    "{% for m in messages %}<{{ m.role }}>{% for p in m.content if p.type == 'image' "
    "%}[image]{% endfor %}"
    "{% for p in m.content if p.type == 'text' %}{{ p.text }}{% endfor %}{% endfor %}"
)
FIRST_TEXT_ONLY = (
    "{% for m in messages %}<{{ m.role }}>"
    "{% for p in (m.content | selectattr('type', 'equalto', 'text') | list)[:1] %}{{ "
    "p.text }}{% endfor %}"
    "{% for p in m.content if p.type == 'image' %}[image]{% endfor %}{% endfor %}"
)
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ refuse('no system role') }}{% endif %}"
    + TEXTS
)
SYSTEM_LAST = (
    "{% set words = messages[0].content if messages[0].role == 'system' else '' %}"
    "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{% if loop.last %}{{ "
    "words }} {% endif %}"
    "{{ m.content }}{% endfor %}"
)
SYSTEM_LAST_OF_LISTS = SYSTEM_LAST.replace(
    "set words = messages[0].content", "set words = messages[0].content[0].text"
).replace(
    "{{ m.content }}",
    "{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% else %}[image]{% "
    "endif %}{% endfor %}",
)
SYSTEM_TEXT_REST_LISTS = (
    "{% if messages[0].role == 'system' %}{{ messages[0].content | trim }}{% endif %}"
    + (LISTS.replace("in messages", "in messages if m.role != 'system'"))
)
ONE_PICTURE = (
    "{% set ns = namespace(seen=false) %}{% for m in messages %}<{{ m.role }}>{% for "
    "p in m.content %}"
    "{% if p.type == 'text' %}{{ p.text }}{% elif not ns.seen %}[image]{% set ns.seen "
    "= true %}{% endif %}"
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
    messages: list[dict[str, Any]] = []
    for role, words in turns:
        items = [
            {"type": "image", "image": None}
            if word == "*"
            else {"type": "text", "text": word}
            for word in words
        ]
        messages.append({"role": role, "content": items})
    return Chat(tuple(messages))


USER = ("user", ["Who are you?"])
SYSTEM = ("system", ["Be kind."])
ANSWER = ("assistant", ["A dog."])
SHOWN = ("user", ["See", "*", "here"])
LAST = "<user>Be kind. Who are you?"
NUMBERED = TEXTS.replace("{{ m.content", "a {'type': number} {{ m.content")

KEPT = {
    "lists": (
        LISTS,
        [SYSTEM, SHOWN, ANSWER],
        "<system>Be kind.<user>See[image]here<assistant>A dog.",
    ),
    "plain": (TEXTS, [SYSTEM, USER], "<system>Be kind.<user>Who are you?"),
    "system last": (
        SYSTEM_LAST,
        [SYSTEM, USER, ANSWER, USER],
        f"<user>Who are you?<assistant>A dog.{LAST}",
    ),
    "system last, picture": (
        SYSTEM_LAST_OF_LISTS,
        [SYSTEM, SHOWN, USER],
        f"<user>See[image]here{LAST}",
    ),
    "words about types": (NUMBERED, [USER], "<user>a {'type': number} Who are you?"),
    "system as text": (
        SYSTEM_TEXT_REST_LISTS,
        [SYSTEM, SHOWN],
        "Be kind.<user>See[image]here",
    ),
    "one picture": (ONE_PICTURE, [SHOWN], "<user>See[image]here"),
}
NO_SYSTEM_TURN = LISTS.replace("in messages", "in messages if m.role != 'system'")
ONLY_USER = TEXTS.replace("in messages", "in messages if m.role == 'user'")
LONG = ("user", ["Who are you, and where do you come from?"])
FAULTS = {
    "a system message": (NO_SYSTEM_TURN, [SYSTEM, USER], "drops .*system"),
    "an answer": (ONLY_USER, [USER, ANSWER, USER], "drops .*assistant"),
    "the second text": (FIRST_TEXT_ONLY, [SHOWN], "drops text 2"),
    "the second picture": (ONE_PICTURE, [("user", ["*", "or", "*"])], "drops image 2"),
    "a picture in an answer": (
        ONE_PICTURE,
        [SHOWN, ("assistant", ["*", "it"]), USER],
        "image .*assistant",
    ),
    "words that it cuts": (
        "{% for m in messages %}{{ m.content[:20] }}{% endfor %}",
        [LONG],
        "where",
    ),
    "a role that it does not know": (NO_SYSTEM, [SYSTEM, USER], "system"),
    "a picture in a template for texts": (TEXTS, [SHOWN], "plain"),
    "the beginning of a message": (
        "{% for m in messages %}{{ m.content[:3] }}{% endfor %}",
        [USER],
        "plain",
    ),
}


@pytest.mark.parametrize("case", KEPT)
def test_a_conversation_that_is_kept_is_written_as_the_template_writes_it(
    case: str,
) -> None:
    source, turns, text = KEPT[case]
    assert written(source).text(chat(*turns)) == (text, ())


@pytest.mark.parametrize("case", FAULTS)
def test_a_conversation_of_which_a_template_drops_or_refuses_a_part_is_not_asked(
    case: str,
) -> None:
    source, turns, word = FAULTS[case]
    with pytest.raises(RowError, match=word) as caught:
        written(source).text(chat(*turns))
    assert caught.value.kind == "unsupported"


def test_a_picture_that_is_moved_is_warned_of_and_one_in_its_place_is_not() -> None:
    template = written(PICTURES_FIRST)
    assert template.text(chat(("user", ["*", "See"])))[1] == ()
    text, warnings = template.text(chat(SHOWN))
    assert text == "<user>[image]Seehere"
    assert ["the image of" in warning for warning in warnings] == [True]


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


@pytest.mark.parametrize(
    "source",
    ["", "hello", "{{ nothing }}", "{% for m in messages %}{{ m.role }}{% endfor %}"],
)
def test_a_template_that_writes_no_words_is_none(source: str) -> None:
    assert not written(source).writes_words()
    assert written(TEXTS).writes_words()
