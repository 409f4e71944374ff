import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from jinja2 import TemplateError, TemplateSyntaxError, UndefinedError

from mmeval.decode import template as module
from mmeval.decode.limits import DEFAULT_LIMITS
from mmeval.decode.template import BoundedTemplate

ROOT = Path(__file__).resolve().parents[3]
VALUES: dict[str, Any] = {
    "input": 'What is "ä"?',
    "level": 3,
    "empty": None,
    "options": [{"name": "a", "words": ["x", "y"]}, {"name": "b", "words": []}],
}

PLAIN = (
    "{{ input | upper | trim }} {{ empty | default('-') }} {{ level }}",
    "{% if level > 2 and empty is none %}hard{% else %}{{ input }}{% endif %}",
    "{% for option in options if option.name %}{{ loop.index }}. {{ option.name | "
    "title }}{% endfor %}",
    "{% for option in options %}{% for word in option.words %}{{ word.strip() }}{{ "
    "input }}{% endfor %}{% endfor %}",
    "{% for name, value in options[0].items() %}{{ name }}={{ value }}{% else "
    "%}none{% endfor %}",
    "{% if level in [1, 3] %}{{ options | length }}{% endif %}",
    "{% for option in options %}{% if loop.index < loop.length and option.name != 'a' "
    "and level == 3 %}{% endif %}"
    "{% endfor %}",
)
NOT_PLAIN = (
    "{{ options | join }}",
    "{{ input ~ level }}",
    "{{ level * 2 }}",
    "{% set x = input %}{{ x }}",
    "{% for i in range(level) %}{{ i }}{% endfor %}",
    "{% for a in options %}{% for b in options %}{{ b.name }}{% endfor %}{% endfor %}",
    "{% for option in options %}{% if option.name in input %}{{ option.name }}{% "
    "endif %}{% endfor %}",
    "{% for option in options %}{{ input | lower }}{% endfor %}",
    "{% for option in options %}{% if options == input %}{% endif %}{% endfor %}",
    "{% for a in [1, 2] %}{% for b in [a, a] %}{% for c in [b, b] %}{% endfor %}{% "
    "endfor %}{% endfor %}",
    "{{ input.replace('W', 'V') }}",
    "{{ [input] | lower }}",
    "{{ input | trim(input) }}",
    "{{ input.strip(input) }}",
)


@pytest.mark.parametrize(
    ("sources", "plain"),
    [(PLAIN, True), (NOT_PLAIN, False)],
    ids=["plain", "not plain"],
)
def test_a_template_has_the_same_text_here_and_in_the_decoding_process(
    sources: tuple[str, ...], plain: bool
) -> None:
    for source in sources:
        template = BoundedTemplate(source)
        assert template._is_plain is plain, source
        here = [module._WAYS[what](source, VALUES) for what in ("render", "value")]
        assert [
            module._apart(source, what, VALUES) for what in ("render", "value")
        ] == here
        assert [template.render(VALUES), template.value(VALUES)] == here


def test_the_prompts_of_judges_are_plain() -> None:
    files = sorted((ROOT / "metrics").rglob("prompts/*.jinja"))
    assert files
    assert [
        file.name
        for file in files
        if not BoundedTemplate(file.read_text("utf-8"))._is_plain
    ] == []


HOSTILE = {
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% "
    "endfor %}",
    "a product of values": "{% for word in words %}{% if word in input %}{% endif "
    "%}{% endfor %}",
    "comparisons": "{% for word in words %}{% if words == words %}{% endif %}{% "
    "endfor %}",
    "loops over written lists": "".join(
        f"{{% for {name} in [{'1, ' * 50}] %}}" for name in "abcde"
    )
    + "{% endfor %}" * 5,
    "calls": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% "
    "endmacro %}{{ m(40) }}",
    "repetition": "{{ 'a' * 10000000000 }}",
    "a constant": "{% autoescape 'a' * 10000000000 %}{% endautoescape %}",
    "a filter": "{{ 'a' | center(10000000000) }}",
    "a format": "{{ '%10000000000d' % 1 }}",
    "doubling": "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = "
    "n.x ~ n.x %}{% endfor %}",
    "lists of one list": "{% set a = ['x' * 999] * 999 %}{% set b = [a] * 999 %}{{ "
    "[b] * 999 }}",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_template_that_takes_too_much_time_or_memory_is_refused(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = dataclasses.replace(DEFAULT_LIMITS, max_step_seconds=0.3)
    monkeypatch.setattr(module, "DEFAULT_LIMITS", limits)
    values = {
        "input": "word " * 100_000,
        "words": [str(number) for number in range(100_000)],
    }
    template = BoundedTemplate(HOSTILE[case])
    assert template.reads <= values.keys()
    with pytest.raises(
        TemplateError, match=r"0\.3 seconds of processor time or 184 MiB|longer than"
    ):
        template.render(values)


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("a\n{% if %}", TemplateSyntaxError, "Expected an expression"),
        (
            "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
            TemplateError,
            "nested too deeply",
        ),
        ("{% if 1 %}" * 150 + "{% endif %}" * 150, TemplateError, "indentation"),
        (
            "{% for a in range(9) %}" * 30 + "{% endfor %}" * 30,
            TemplateError,
            "nested blocks",
        ),
        *(
            (source, UndefinedError, "no attribute 'x'")
            for source in ("{{ options.x }}", "{{ (options * 2).x }}")
        ),
        *(
            (source, TemplateError, "longer than")
            for source in ("{{ 'a' * 5000000 }}", "{{ ['a' * 5000000] }}")
        ),
    ],
)
def test_what_is_wrong_with_a_template_is_an_error_of_jinja(
    source: str, error: type[Exception], words: str
) -> None:
    for way in (BoundedTemplate.render, BoundedTemplate.value):
        with pytest.raises(error, match=words):
            way(BoundedTemplate(source), VALUES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("['oak', \"ash's\"]", ["oak", "ash's"]),
        ('["oak", null]', ["oak", None]),
        ("[('a', 1), {'b': True}]", [["a", 1], {"b": True}]),
        ("{1: 'oak'}", {"1": "oak"}),
        ("[]", []),
        (" ", None),
        ("oak", "oak"),
        ("(0, 1)", "(0, 1)"),
        (["oak"], ["oak"]),
        (3, 3),
    ],
)
def test_a_text_of_a_list_becomes_the_list(text: Any, value: Any) -> None:
    written = BoundedTemplate("{{ text | literal }}").value({"text": text})
    assert json.loads(written) == value


@pytest.mark.parametrize(
    "text",
    ["['oak' 'ash']", "['oak'\n 'ash']", "[0, 1)", "[oak]", "[b'x']", "[" * 99_999],
    ids=lambda text: text[:20],
)
def test_a_text_that_only_begins_like_a_list_is_an_error(text: str) -> None:
    with pytest.raises(TemplateError):
        BoundedTemplate("{{ text | literal }}").value({"text": text})


@pytest.mark.parametrize("value", [{"key": "x"}, [{"key": "x"}]])
def test_a_mapping_is_no_content(value: Any) -> None:
    with pytest.raises(TemplateError, match="key"):
        BoundedTemplate("{{ value }}").content({"value": value})


@pytest.mark.parametrize(
    ("source", "text"),
    [("{{ value.key }}", "x"), ("{{ value | tojson }}", '{"key": "x"}')],
)
def test_a_key_of_a_mapping_and_its_json_are_contents(source: str, text: str) -> None:
    assert BoundedTemplate(source).content({"value": {"key": "x"}}) == text
