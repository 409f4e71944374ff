from typing import Annotated

import pytest

from mmeval.media.media import Media
from mmeval.media.parts import Part
from mmeval.program.prompt import (
    FromReference,
    FunctionPrompt,
    InstructedPrompt,
    PromptError,
    with_system,
)
from mmeval.program.template import TemplatePrompt
from mmeval.records.sample import Message, Sample, user


def sample(*parts: Part | Media | str, **metadata: object) -> Sample:
    return Sample("s1", (user(*parts),), (), metadata)


def test_the_users_own_instruction_comes_before_the_tasks() -> None:
    instructed = InstructedPrompt(
        "Be brief.", TemplatePrompt(system="Be kind.", user="{{ input }}")
    )
    messages = [
        (message.role, message.content.raw) for message in instructed(sample("q"))
    ]
    assert messages == [("system", "Be brief.\n\nBe kind."), ("user", "q")]
    assert with_system("", given := (user("q"),)) is given


def told(
    _sample: Sample, *, how: Annotated[str, FromReference(("golden",))] = "none"
) -> tuple[Message, ...]:
    return (user(how),)


@pytest.mark.parametrize(
    ("options", "uses"),
    [({}, False), ({"how": "none"}, False), ({"how": "golden"}, True)],
)
def test_an_option_may_tell_the_model_what_the_reference_says(
    options: dict[str, str], uses: bool
) -> None:
    assert FunctionPrompt("told", told, options).uses_reference is uses


def test_a_prompt_function_gets_the_sample_and_its_options_and_returns_messages() -> (
    None
):
    made = FunctionPrompt("shout", lambda s, mark: [user(s.id + mark)], {"mark": "!"})(
        sample("q")
    )
    assert made == (user("s1!"),)
    for returned in ([], ["text"]):
        with pytest.raises(PromptError, match=r"'s1': .*'odd'"):
            FunctionPrompt("odd", lambda _, given=returned: given)(sample("q"))
