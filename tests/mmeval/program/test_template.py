from __future__ import annotations

import pickle

import pytest

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, Part
from mmeval.program import template
from mmeval.program.prompt import PromptError
from mmeval.program.template import TemplatePrompt, check_template
from mmeval.records.sample import Sample, message, user

PICTURE = Media.from_bytes(b"\x89PNG\r\n\x1a\n picture")
SOUND = Media.from_bytes(b"fLaC sound")


def sample(*parts: Part | Media | str, **metadata: object) -> Sample:
    return Sample("s1", (user(*parts),), (), metadata)


def rendered(template: str, *parts: Part | Media | str, **metadata: object) -> list[object]:
    """The parts of the one user message: words, or media."""
    (made,) = TemplatePrompt(user=template, fields=tuple(metadata))(sample(*parts, **metadata))
    return [part.media or part.text for part in made.content.parts]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Q: {{ input }}", "Q: what?"),
        ("{{ id }}/{{ input|upper }}", "s1/WHAT?"),
        ("{% if level > 1 %}hard {% endif %}{{ input }}\n", "hard what?\n"),
        ("no question", "no question"),
    ],
)
def test_a_template_sees_the_input_the_id_and_the_named_labels(template: str, text: str) -> None:
    assert rendered(template, "what?", level=2) == [text]


def test_media_return_to_where_they_stood() -> None:
    parts = ("look: ", PICTURE, " and ", SOUND, "?")
    assert rendered("Now {{ input|upper }} Go.", *parts) == ["Now LOOK: ", PICTURE, " AND ", SOUND, "? Go."]


def test_a_template_may_show_the_input_twice() -> None:
    assert rendered("{{ input }}|{{ input }}", "a", PICTURE) == ["a", PICTURE, "|a", PICTURE]


def test_text_that_poses_as_a_placeholder_or_a_mark_stays_text() -> None:
    hostile = "<<image1>> [000000000000000000000000000000.1] {{ id }} "
    assert rendered("{{ input }}", hostile, PICTURE) == [hostile, PICTURE]


def test_placeholders_and_code_keep_their_parts() -> None:
    dangling, code = Part("image", raw="<<image1>>", label="image1"), Part("code", text="x = 1", raw="<<code1>>")
    (made,) = TemplatePrompt(user="[{{ input }}]")(sample("a", dangling, code))
    assert made.content.parts[1:3] == (dangling, code)
    assert made.content.raw == "[a<<image1>><<code1>>]"


def test_a_template_that_drops_a_medium_is_an_error() -> None:
    with pytest.raises(PromptError, match="sample 's1': .* image;"):
        rendered("{{ input[:3] }}", "abcdef", PICTURE)


def test_labels_that_are_not_named_are_out_of_reach() -> None:
    with pytest.raises(PromptError, match="sample 's1' .*'answer' is undefined"):
        TemplatePrompt(user="{{ answer }}")(sample("q", answer="42"))


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("{{ ''.__class__.__mro__ }}", "is unsafe|lacks"),
        ("{{ 'a' * 5_000_000 }}", "longer than"),
        ("{% for i in range(90000) %}" + "x" * 50 + "{% endfor %}", "longer than"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ input.gone }}", "lacks"),
        ("{{ input.append(1) }}", "lacks"),
        ("{% include 'x' %}", "cannot be rendered"),
    ],
    ids=lambda text: text[:22],
)
def test_a_template_cannot_leave_its_sandbox_or_send_what_is_too_long(template: str, complaint: str) -> None:
    with pytest.raises(PromptError, match=complaint):
        rendered(template, "q")


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("{{ inptu }}", "reads 'inptu'; .*\"input\""),
        ("a\n{% if %}", "in its line 2"),
        ("{{ answer }}", "'answer'; .*input, id, level"),
        ("{% macro m() %}{{ hidden }}{% endmacro %}", "the template reads 'hidden'"),
    ],
)
def test_a_template_is_checked_before_any_sample(template: str, complaint: str) -> None:
    with pytest.raises(PromptError, match=complaint):
        check_template(template, ["level"])


def test_a_sound_template_passes_the_check() -> None:
    check_template("{% for i in range(level) %}{{ input }}{{ id }}{% endfor %}", ["level"])


def test_each_user_turn_is_asked_in_the_same_words_and_other_roles_stay() -> None:
    turns = Sample("s", (user("one"), message("assistant", "first"), user("two")))
    made = TemplatePrompt(user="<{{ input }}>")(turns)
    assert [(m.role, m.content.raw) for m in made] == [("user", "<one>"), ("assistant", "first"), ("user", "<two>")]


def test_a_system_template_alone_leaves_the_input_as_it_is() -> None:
    made = TemplatePrompt(system="Level {{ level }}.", fields=("level",))(sample("q", PICTURE, level=3))
    assert made == (message("system", "Level 3."), user("q", PICTURE))


def test_a_prompt_travels_to_another_process() -> None:
    prompt = TemplatePrompt(user="{{ input }}!")
    prompt(sample("compiled here"))
    assert pickle.loads(pickle.dumps(prompt))(sample("q")) == (user("q!"),)


def test_the_mark_of_this_process_is_never_left_in_a_prompt() -> None:
    (made,) = TemplatePrompt(user="{{ input }}")(sample("a", PICTURE, "b"))
    assert template._NONCE not in made.content.raw
    assert isinstance(made.content, Interleaved)
