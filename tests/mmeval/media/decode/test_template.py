import json
from typing import Any

import pytest
from jinja2 import TemplateError, TemplateSyntaxError, UndefinedError

from mmeval.media.decode.template import BoundedTemplate

VALUES: dict[str, Any] = {
    "input": 'What is "ä"?',
    "level": 3,
    "empty": None,
    "options": [{"name": "a", "words": ["x", "y"]}, {"name": "b", "words": []}],
}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ input | upper }} {{ empty | default('-') }}", 'WHAT IS "Ä"? None'),
        ("{% for o in options %}{{ loop.index }}{{ o.name }}{% endfor %}", "1a2b"),
        ("{% set wide = level * 2 %}{{ wide }}{{ '=' * wide }}", "6======"),
        ("{{ '%.1f' % level }}", "3.0"),
    ],
)
def test_a_template_is_rendered_with_its_values(source: str, text: str) -> None:
    assert BoundedTemplate(source).render(VALUES) == text


def test_the_value_of_one_expression_is_json() -> None:
    template = BoundedTemplate("{{ options[0].words }}")
    assert json.loads(template.value(VALUES)) == ["x", "y"]


def test_the_value_of_a_longer_template_is_its_text() -> None:
    template = BoundedTemplate("{{ level }} {{ level }}")
    assert json.loads(template.value(VALUES)) == "3 3"


def test_a_template_reads_its_variables_without_those_of_its_own() -> None:
    template = BoundedTemplate(
        "{% for o in options %}{{ o.name }}{{ input }}{% endfor %}"
    )
    assert template.reads == {"options", "input"}


@pytest.mark.parametrize(
    "source",
    ["{{ input.__class__ }}", "{{ options.append(1) }}"],
    ids=["Python behind a value", "a change of a value"],
)
def test_a_template_reaches_nothing_beyond_its_values(source: str) -> None:
    with pytest.raises(TemplateError, match=r"unsafe|not safely callable"):
        BoundedTemplate(source).render(VALUES)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ 'a' * 10000000000 }}", "longer than"),
        ("{{ 10000000000 * ['a'] }}", "longer than"),
        ("{% autoescape 'a' * 10000000000 %}{% endautoescape %}", "longer than"),
        ("{% for i in range(99999) %}{{ input * 99 }}{% endfor %}", "longer than"),
        ("{% for i in range(10000000000) %}{% endfor %}", "too big"),
    ],
    ids=["a text", "a list", "a constant", "a loop that writes", "a long range"],
)
def test_a_template_that_makes_something_huge_is_refused(
    source: str, words: str
) -> None:
    with pytest.raises(TemplateError, match=words):
        BoundedTemplate(source).render(VALUES)


@pytest.mark.parametrize(
    "source", ["{{ level + input }}", "{{ 1 / 0 }}"], ids=["a type", "a value"]
)
def test_an_operation_that_python_refuses_is_an_error_of_jinja(source: str) -> None:
    with pytest.raises(TemplateError):
        BoundedTemplate(source).render(VALUES)


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
    for method in (BoundedTemplate.render, BoundedTemplate.value):
        with pytest.raises(error, match=words):
            method(BoundedTemplate(source), VALUES)


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
    rendered = BoundedTemplate("{{ text | literal }}").value({"text": text})
    assert json.loads(rendered) == value


@pytest.mark.parametrize(
    "text",
    ["['oak' 'ash']", "[0, 1)", "[oak]", "[b'x']", "[" * 99_999],
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
