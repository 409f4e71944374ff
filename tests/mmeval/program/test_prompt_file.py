from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UnknownNameError
from mmeval.media.parts import Interleaved, Part, media_part, text_item, text_part
from mmeval.program.prompt import PromptError
from mmeval.program.prompt_file import (
    JudgePrompt,
    PromptFile,
    PromptTexts,
    find_prompt,
    read_prompt_folder,
)
from mmeval.records.request import GenerationParams
from mmeval.records.sample import Message
from tests.support.toy import picture

NONE = PromptTexts()


def rendered(text: str, **values: Any) -> tuple[Message, ...]:
    return PromptFile("p", text).messages(values)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "polite.jinja").write_text("Is {{ answer }} polite?")
    return tmp_path


def test_headings_part_the_system_message_from_the_users() -> None:
    (message,) = rendered("Is {{ answer }} polite?\n", answer="hi")
    assert (message.role, message.content.text) == ("user", "Is hi polite?")
    messages = rendered(
        "[system]\nYou judge.\n[user]\nIs {{ answer }} polite?\n", answer="[system]\nhi"
    )
    assert [(one.role, one.content.text) for one in messages] == [
        ("system", "You judge."),
        ("user", "Is [system]\nhi polite?"),  # data hold no headings
    ]
    for text in ("before\n[user]\nx", "[system]\nx", "[user]\nx\n[system]\ny"):
        with pytest.raises(PromptError, match=r"with \[user\]"):
            rendered(text)


def test_a_prompt_need_not_write_the_form_where_plain_replies_are_read() -> None:
    plain, usual = JudgePrompt("answer", form=False), JudgePrompt("answer")
    prompt = PromptFile("p", "Is {{ answer }} polite? Say yes or no.")
    prompt.check(plain.names, form=plain.needs_form({}))
    with pytest.raises(PromptError, match=r"\{\{ form \}\}"):
        prompt.check(usual.names, form=usual.needs_form({}))


def test_a_switch_may_decide_if_a_prompt_needs_the_form() -> None:
    kind = JudgePrompt("answer", form=lambda switches: switches["rubric"] == "grade")
    assert kind.needs_form({"rubric": "grade"})
    assert not kind.needs_form({"rubric": "overall"})


def test_media_stand_where_the_template_writes_them() -> None:
    answer = Interleaved(
        (
            text_part("see "),
            media_part(picture(1)),
            text_part(" and "),
            media_part(picture(2)),
        )
    )
    others = [Interleaved(answer.parts[1:2])]
    (message,) = rendered(
        "First {{ answer }}, then {{ others[0] }}.", answer=answer, others=others
    )
    kinds = [part.text or part.kind for part in message.content.parts]
    assert kinds == ["First see ", "image", " and ", "image", ", then ", "image", "."]
    (message,) = rendered(
        "{% if show %}{{ answer }}{% endif %}no", show="", answer=answer
    )
    assert message.content.raw == "no"
    for cut, fault in (
        ("answer.split(',')[0]", "loses some"),
        ("answer | truncate(20, leeway=0)", "in the middle"),
    ):
        with pytest.raises(PromptError, match=fault):
            rendered(
                f"{{{{ {cut} }}}}",
                answer=Interleaved(
                    (*answer.parts[1:2], text_part(","), *answer.parts[3:])
                ),
            )


def test_the_mark_stands_in_no_value_and_follows_from_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def mark(answer: str) -> str:
        return rendered("{{ mark }}", answer=answer)[0].content.text

    assert mark("one") == mark("one") != mark("two")
    assert mark("one") not in mark(f"quoting {mark('one')}")

    monkeypatch.setattr(
        "mmeval.program.prompt_file.content_digest",
        lambda head, _: head.split(b"/")[0].decode() * 16,
    )
    code = Interleaved((Part("code", text="0" * 16, raw=""),))
    assert [
        rendered("{{ mark }}", answer=it)[0].content.text for it in ("0" * 16, [code])
    ] == ["1" * 16] * 2


def test_a_prompt_is_a_name_a_path_or_its_words_unless_the_user_has_own_words(
    home: Path,
) -> None:
    own = PromptTexts(
        given={"polite": PromptFile("polite", "mine")}, recorded={"polite": "then"}
    )
    recorded = PromptTexts(recorded={"polite": "then"})
    text = "Is {{ answer }} polite?"
    for written, of_record in (
        ("polite", "then"),
        (f"{home}/polite.jinja", text),
        ({"text": text, "name": "polite"}, text),
    ):
        assert find_prompt(written, home, NONE) == PromptFile("polite", text)
        assert find_prompt(written, home, own).text == "mine"
        assert find_prompt(written, home, recorded).text == of_record


def test_what_is_no_prompt_is_refused(home: Path) -> None:
    with pytest.raises(UnknownNameError, match='"polite"') as caught:
        find_prompt("polit", home, NONE)
    assert caught.value.name == "polit"
    for written, fault in (
        ("./gone.jinja", "gone.jinja"),
        ({"txt": "x"}, "{'txt': 'x'}"),
        ({"name": "polite", "sha256": "00", "text": "x"}, "sha256"),
    ):
        with pytest.raises(PromptError, match=fault):
            find_prompt(written, home, NONE)


def test_a_folder_gives_its_prompts_by_file_name_and_a_fault_names_the_file(
    tmp_path: Path, home: Path
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("one.jinja", "two.md", "three.txt", "notes.pdf"):
        (mine / name).write_text(name)
    found = {name: prompt.text for name, prompt in read_prompt_folder(mine).items()}
    assert found == {"one": "one.jinja", "two": "two.md", "three": "three.txt"}
    (mine / "polite.md").write_text("{{ answr }}")
    texts = PromptTexts(read_prompt_folder(mine))
    with pytest.raises(PromptError, match=r"'polite' \(.*polite\.md\): .*answr"):
        find_prompt("polite", home, texts).check(("answer", "form"))
    (mine / "one.md").write_text("again")
    with pytest.raises(PromptError, match="called one;"):
        read_prompt_folder(mine)


def test_a_prompt_that_cannot_be_rendered_is_named_with_its_file(
    tmp_path: Path,
) -> None:
    file = tmp_path / "loud.jinja"
    file.write_text("{{ answer * 10000000000 }}{{ form }}")
    prompt = find_prompt(str(file), tmp_path, NONE)
    prompt.check(["answer", "form"])
    with pytest.raises(PromptError, match=r"loud\.jinja.*longer than"):
        prompt.messages({"answer": "a", "form": "f"})


CONDITIONAL = """\
[system]
{% if strict %}Be strict.{% endif %}
[user]
{{ question }}
[user]
{% if strict %}{{ criterion }}{% endif %}
"""


@pytest.mark.parametrize(
    ("strict", "contents"),
    [
        ("yes", [("system", "Be strict."), ("user", "Polite?"), ("user", "Very.")]),
        ("", [("user", "Polite?")]),
    ],
)
def test_a_message_that_is_rendered_empty_is_left_out(
    strict: str, contents: list[tuple[str, str]]
) -> None:
    messages = rendered(
        CONDITIONAL, strict=strict, question="Polite?", criterion="Very."
    )
    assert [(message.role, message.content.text) for message in messages] == contents


RELEASED = {
    "name": "p",
    "text": "One\nof {{ answer }}",
    "released": "trees.judge",
    "call": {"temperature": 0, "image_detail": "low", "content": "lines"},
}


def test_the_call_of_a_released_prompt_is_recorded() -> None:
    prompt = PromptFile.of(RELEASED)
    assert PromptFile.of(prompt.to_json()) == prompt


def test_the_call_of_a_released_prompt_sets_parameters() -> None:
    params = PromptFile.of(RELEASED).params
    assert params == GenerationParams(temperature=0, options={"image.detail": "low"})


def test_a_released_prompt_in_lines_has_no_line_feeds() -> None:
    answer = Interleaved((text_item("a\nb"), media_part(picture(1)), text_part("c")))
    (message,) = PromptFile.of(RELEASED).messages({"answer": answer})
    texts = [part.text for part in message.content.parts]
    assert texts == ["One of ", "a b", None, "c"]
