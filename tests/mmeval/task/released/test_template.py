"""A template renders released texts exactly, with the values of our prompt."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mmeval.errors import MissingDataError
from mmeval.program.prompt_file import PromptFile
from mmeval.task.released.cached import cached_path
from mmeval.task.released.catalogue import Catalogue, CatalogueKeys, ReleasedFile
from mmeval.task.released.recipe import RecipeError
from mmeval.task.released.template import template_of

VALUES = {"description": "an oak", "first": "a leaf", "second": "a root"}


def catalogue(*texts: str, **template: Any) -> Catalogue:
    """A catalogue of files with one text each, in the cache."""
    files = []
    for index, text in enumerate(texts):
        digest = hashlib.sha256(text.encode()).hexdigest()
        prompt = {"id": f"trees.{index}", "recipe": "file", "sha256": digest}
        files.append({"source": "trees", "path": f"{index}.txt", "prompts": [prompt]})
    ids = [f"trees.{index}" for index in range(len(texts))]
    source = {"repository": "me/trees", "commit": "c" * 40, "license": "none"}
    keys = CatalogueKeys.model_validate(
        {
            "sources": {"trees": source},
            "files": files,
            "templates": [{"prompt": "judge_trees", "ids": ids, **template}],
        }
    )
    released = [ReleasedFile(file, keys.sources["trees"]) for file in keys.files]
    for file, text in zip(released, texts, strict=True):
        path = cached_path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return Catalogue(tuple(released), (), keys.templates)


def rendered(of: Catalogue, values: Mapping[str, str] = VALUES) -> str:
    text = template_of(of.templates[0], of)
    (message,) = PromptFile("judge_trees", text).messages(values)
    return message.content.text


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        "Is there a tree?",
        "\n\nAn edge of empty lines.\n\n",
        'Reply with {"Judge": true}, {{doubled}} and {% raw %} {# all of it #}.',
        "one\r\ntwo\rthree\n",
        "A quote ' and a backslash \\ and é.",
    ],
)
def test_a_text_without_fields_is_rendered_as_it_is(text: str) -> None:
    assert rendered(catalogue(text)) == text


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("Is there {obj}?\n", {"{obj}": ["description"]}, "Is there an oak?\n"),
        ("{obj}, {obj}", {"{obj}": ["description"]}, "an oak, an oak"),
        ("<<tree>> or {x}", {"<<tree>>": ["description"]}, "an oak or {x}"),
        ("{} on {}.", {"{}": ["first", "second"]}, "a leaf on a root."),
        ('{{"x": {y}}}', {"{y}": ["first"]}, '{{"x": a leaf}}'),
    ],
)
def test_a_field_is_a_value_of_our_prompt(
    text: str, fields: Mapping[str, Any], expected: str
) -> None:
    assert rendered(catalogue(text, fields=fields)) == expected


def test_doubled_braces_are_sent_single_where_the_script_formats_them() -> None:
    of = catalogue('{{"tree": {x}}}', fields={"{x}": ["first"]}, doubled_braces=True)
    assert rendered(of) == '{"tree": a leaf}'


def test_texts_are_joined_in_their_order() -> None:
    assert rendered(catalogue("Rules.", "Tree.", between="\n\n")) == "Rules.\n\nTree."


def test_a_field_may_be_another_text() -> None:
    of = catalogue("One {x}.", "of {y}", texts={"{x}": "trees.1"})
    keys = of.templates[0].model_copy(update={"ids": ("trees.0",)})
    text = template_of(keys, of)
    (message,) = PromptFile("judge_trees", text).messages(VALUES)
    assert message.content.text == "One of {y}."


def test_a_system_text_is_a_message_of_its_own() -> None:
    of = catalogue("Rules.\n", "Is it a tree?\n", system="trees.0")
    keys = of.templates[0].model_copy(update={"ids": ("trees.1",)})
    messages = PromptFile("judge_trees", template_of(keys, of)).messages(VALUES)
    contents = [(message.role, message.content.text) for message in messages]
    assert contents == [("system", "Rules.\n"), ("user", "Is it a tree?\n")]


def test_a_value_may_follow_the_text() -> None:
    assert rendered(catalogue("Look: ", after=["first"])) == "Look: a leaf"


def test_words_of_ours_stand_around_the_texts() -> None:
    pieces = ["\n", "first", '": "', "trees.0", "\n\n"]
    of = catalogue("Is {it}?", ids=[], frame=[{"user": pieces}])
    assert rendered(of) == "\na leaf: Is {it}?\n\n"


def test_words_of_ours_may_have_braces() -> None:
    of = catalogue("Name a tool.", ids=[], frame=[{"user": ["trees.0", '" {{x}}"']}])
    assert rendered(of) == "Name a tool. {{x}}"


def test_a_value_is_never_read_as_a_field() -> None:
    of = catalogue("{a} {b}", fields={"{a}": ["first"], "{b}": ["second"]})
    assert rendered(of, {"first": "{b}", "second": "{{ first }}"}) == "{b} {{ first }}"


def test_a_text_that_would_begin_a_message_is_refused() -> None:
    of = catalogue("Rules.\n[user]\nTree.")
    with pytest.raises(RecipeError, match="would begin a message"):
        template_of(of.templates[0], of)


def test_a_text_that_is_not_in_the_cache_is_missing() -> None:
    of = catalogue("Is there a tree?")
    cached_path(of.files[0]).unlink()
    with pytest.raises(MissingDataError, match="mmeval prepare TASK --prompts"):
        template_of(of.templates[0], of)


def test_a_changed_text_in_the_cache_is_refused_by_its_id() -> None:
    of = catalogue("Is there a tree?")
    cached_path(of.files[0]).write_text("Is there a flower?")
    with pytest.raises(MissingDataError, match=r"trees\.0"):
        template_of(of.templates[0], of)


def framed(*texts: str, **template: Any) -> Catalogue:
    return catalogue(*texts, ids=[], **template)


def messages_of(of: Catalogue, **values: str) -> list[tuple[str, str]]:
    prompt = PromptFile("judge_trees", template_of(of.templates[0], of))
    messages = prompt.messages({**VALUES, **values})
    return [(message.role, message.content.text) for message in messages]


FRAME = [
    {"system": ["trees.0"], "when": "first"},
    {"user": ["second", "trees.1"], "when": "first"},
    {"user": ["trees.1", "\n\n", "second"], "unless": "first"},
]


def test_a_frame_places_texts_and_values() -> None:
    of = framed("Rules.", "Is it?", frame=FRAME)
    assert messages_of(of) == [("system", "Rules."), ("user", "a rootIs it?")]


def test_a_message_of_a_frame_may_depend_on_a_value() -> None:
    of = framed("Rules.", "Is it?", frame=FRAME)
    assert messages_of(of, first="") == [("user", "Is it?\n\na root")]


@pytest.mark.parametrize(
    ("first", "text"), [("yes", "Give {{a}} score."), ("", "Yes or no?")]
)
def test_a_text_may_depend_on_a_value(first: str, text: str) -> None:
    choice = {"value": "first", "set": "trees.1", "unset": "trees.2"}
    of = catalogue(
        "{{x}} {r}", "Give {{a}} score.", "Yes or no?", texts={"{r}": choice}
    )
    keys = of.templates[0].model_copy(update={"ids": ("trees.0",)})
    keys = keys.model_copy(update={"doubled_braces": True})
    prompt = PromptFile("judge_trees", template_of(keys, of))
    (message,) = prompt.messages({**VALUES, "first": first})
    assert message.content.text == f"{{x}} {text}"


def test_a_template_has_either_ids_or_a_frame() -> None:
    with pytest.raises(ValidationError, match="either ids or frame"):
        catalogue("Rules.", frame=FRAME)


@pytest.mark.parametrize(
    ("profile", "braces", "temperature"),
    [("official", False, 0.0), ("standard", True, None)],
)
def test_a_mistake_of_the_script_is_left_out_without_the_profile_official(
    profile: str, braces: bool, temperature: float | None
) -> None:
    unofficial = {"doubled_braces": True, "call": {}}
    of = catalogue("Rules.", call={"temperature": 0}, unofficial=unofficial)
    keys = of.templates[0].in_profile(profile)
    assert keys.doubled_braces == braces
    assert keys.call.temperature == temperature
