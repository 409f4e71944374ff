"""Prompts make the messages of a sample, with a template or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mmeval.errors import UsageError
from mmeval.media.parts import Interleaved, text_part
from mmeval.records.sample import Message, Sample
from mmeval.system.arguments import hint_of, marks_of

Prompt: TypeAlias = Callable[[Sample], tuple[Message, ...]]


class PromptError(UsageError):
    """The error for an invalid template, or a prompt that fails for a sample."""


@dataclass(frozen=True)
class FromReference:
    """Marks an option of a prompt function that can reveal the reference.

    If the option has one of ``values``, the prompt contains information from the
    reference.
    """

    values: tuple[Any, ...]


@dataclass(frozen=True)
class FunctionPrompt:
    """A registered prompt function (``mmeval.prompts``) with its options."""

    name: str
    function: Callable[..., Sequence[Message]]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def uses_reference(self) -> bool:
        """True if the prompt contains information from the reference."""
        return any(
            value in mark.values
            for name, value in self.options.items()
            for mark in marks_of(hint_of(self.function, name), FromReference)
        )

    def __call__(self, sample: Sample) -> tuple[Message, ...]:
        messages = tuple(self.function(sample, **self.options))
        if not messages or not all(
            isinstance(message, Message) for message in messages
        ):
            raise PromptError(
                f"sample {sample.id!r}: the prompt function {self.name!r} did not "
                "return messages"
            )
        return messages


@dataclass(frozen=True)
class InstructedPrompt:
    """A prompt that begins with the user's ``--system_instruction``."""

    instruction: str
    prompt: Prompt

    def __call__(self, sample: Sample) -> tuple[Message, ...]:
        return with_system(self.instruction, self.prompt(sample))


def plain_prompt(sample: Sample) -> tuple[Message, ...]:
    """Returns the sample's input unchanged."""
    return sample.input


def with_system(text: str, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Adds a system text before the messages.

    An existing system text follows it after an empty line.
    """
    if not text:
        return messages
    if messages and messages[0].role == "system":
        existing = messages[0].content.parts
        return (
            Message("system", Interleaved((text_part(f"{text}\n\n"), *existing))),
            *messages[1:],
        )
    return (Message("system", Interleaved((text_part(text),))), *messages)
