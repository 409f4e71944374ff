import pytest

from mmeval.errors import SampleError, UsageError
from mmeval.media.media import Media
from mmeval.media.parts import Part
from mmeval.program import template as module
from mmeval.program.prompt import PromptError
from mmeval.program.template import TemplatePrompt, check_template
from mmeval.records.sample import Sample, message, user

PICTURE = Media.from_bytes(b"\x89PNG\r\n\x1a\n picture")
SOUND = Media.from_bytes(b"fLaC sound")
HOSTILE = "<<image1>> [000000000000000000000000000000.1] {{ id }} "


def sample(*parts: Part | Media | str, **metadata: object) -> Sample:
    return Sample("s1", (user(*parts),), (), metadata)


def rendered(
    template: str, *parts: Part | Media | str, **metadata: object
) -> list[object]:
    """The parts of the one user message: words, or media."""
    (made,) = TemplatePrompt(user=template, fields=tuple(metadata))(
        sample(*parts, **metadata)
    )
    assert module._NONCE not in made.content.raw
    return [part.media or part.text for part in made.content.parts]


@pytest.mark.parametrize(
    ("template", "parts", "found"),
    [
        ("Q: {{ input }}", ["what?"], ["Q: what?"]),
        ("{{ id }}/{{ input|upper }}", ["what?"], ["s1/WHAT?"]),
        (
            "{% if level > 1 %}hard {% endif %}{{ input }}\n",
            ["what?"],
            ["hard what?\n"],
        ),
        ("no question", ["what?"], ["no question"]),
        (
            "{{ input|upper }}.",
            ["see ", PICTURE, " and ", SOUND, "?"],
            ["SEE ", PICTURE, " AND ", SOUND, "?."],
        ),
        ("{{ input }}|{{ input }}", ["a", PICTURE], ["a", PICTURE, "|a", PICTURE]),
        ("{{ input }}", [HOSTILE, PICTURE], [HOSTILE, PICTURE]),
    ],
    ids=lambda value: str(value)[:22],
)
def test_what_a_template_sees(
    template: str, parts: list[Media | str], found: list[object]
) -> None:
    assert rendered(template, *parts, level=2) == found


def test_placeholders_and_code_keep_their_parts() -> None:
    dangling = Part("image", raw="<<image1>>", label="image1")
    code = Part("code", text="x = 1", raw="<<code1>>")
    (made,) = TemplatePrompt(user="[{{ input }}]")(sample("a", dangling, code))
    assert (made.content.parts[1:3], made.content.raw) == (
        (dangling, code),
        "[a<<image1>><<code1>>]",
    )


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("{{ ''.__class__.__mro__ }}", "is unsafe|lacks"),
        ("{% include 'x' %}", "cannot be rendered"),
        ("{{ input[:3] }}", "leaves out image"),
        ("{{ answer }}", "'answer' is undefined"),
    ],
    ids=lambda text: text[:22],
)
def test_a_template_cannot_leave_its_sandbox_drop_media_or_send_what_is_too_long(
    template: str, fault: str
) -> None:
    with pytest.raises(UsageError, match=f"sample 's1'.*({fault})"):
        TemplatePrompt(user=template)(sample("abcdef", PICTURE, answer="42"))


def test_a_prompt_that_cannot_be_rendered_is_named_with_its_file() -> None:
    for template in ("{{ 'a' * 10000000000 }}", "{{ level }}"):
        with pytest.raises(SampleError, match=r"^t\.yaml:3: sample 's1'"):
            TemplatePrompt(user=template, place="t.yaml:3")(sample("abc"))


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("a\n{% if %}", "in line 2"),
        ("{{ answer }}", "'answer'; .*input, id, level"),
        ("{% macro m() %}{{ hidden }}{% endmacro %}", "uses 'hidden'"),
        ("{% for i in range(level) %}{{ input }}{{ id }}{% endfor %}", ""),
    ],
)
def test_a_template_is_checked_before_any_sample(template: str, fault: str) -> None:
    if not fault:
        check_template(template, ["level"])
        return
    with pytest.raises(PromptError, match=fault):
        check_template(template, ["level"])


def test_each_user_turn_is_asked_in_the_same_words_and_other_roles_stay() -> None:
    turns = Sample("s", (user("one"), message("assistant", "first"), user("two")))
    made = TemplatePrompt(user="<{{ input }}>")(turns)
    assert [(m.role, m.content.raw) for m in made] == [
        ("user", "<one>"),
        ("assistant", "first"),
        ("user", "<two>"),
    ]
    system = TemplatePrompt(system="Level {{ level }}.", fields=("level",))(
        sample("q", PICTURE, level=3)
    )
    assert system == (message("system", "Level 3."), user("q", PICTURE)), (
        "alone it leaves the input as it is"
    )
