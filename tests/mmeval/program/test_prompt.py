from __future__ import annotations

import pytest

from mmeval.content.media import Media
from mmeval.content.parts import Part
from mmeval.program.prompt import FunctionPrompt, InstructedPrompt, PromptError, plain_prompt, with_system
from mmeval.program.template import TemplatePrompt
from mmeval.records.sample import Message, Sample, user

PICTURE = Media.from_bytes(b"\x89PNG\r\n\x1a\n picture")


def sample(*parts: Part | Media | str, **metadata: object) -> Sample:
    return Sample("s1", (user(*parts),), (), metadata)


def test_the_users_own_instruction_comes_before_the_tasks() -> None:
    instructed = InstructedPrompt("Be brief.", TemplatePrompt(system="Be kind.", user="{{ input }}"))
    first, second = instructed(sample("q"))
    assert (first.role, first.content.raw) == ("system", "Be brief.\n\nBe kind.")
    assert second.content.raw == "q"


def test_without_a_system_text_messages_stay_the_same_object() -> None:
    messages = (user("q"),)
    assert with_system("", messages) is messages


def test_without_a_template_the_input_is_passed_on_untouched() -> None:
    given = sample("q", PICTURE)
    assert plain_prompt(given) is given.input


def test_a_prompt_function_gets_the_sample_and_its_options() -> None:
    made = FunctionPrompt("shout", lambda s, mark: [user(s.id + mark)], {"mark": "!"})(sample("q"))
    assert made == (user("s1!"),)


@pytest.mark.parametrize("returned", [[], ["text"]], ids=["nothing", "text"])
def test_a_prompt_function_that_returns_no_messages_is_named(returned: list[Message]) -> None:
    with pytest.raises(PromptError, match="the prompt function 'odd' must return messages"):
        FunctionPrompt("odd", lambda _: returned)(sample("q"))
