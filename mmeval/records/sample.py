"""One sample of a task: its input, references, candidates and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, media_part, text_part
from mmeval.records.digests import line_digest
from mmeval.records.turn import Turn

MessageRole = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """A message of one role.

    ``turn`` is an earlier answer in the server's own format. The answer is sent back to
    the server. It is ignored when messages are compared.
    """

    role: MessageRole
    content: Interleaved
    turn: Turn | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        return {"role": self.role, "content": self.content.to_json()}

    @classmethod
    def from_json(cls, row: Mapping[str, Any], media_root: Path) -> Message:
        return cls(row["role"], Interleaved.from_json(row["content"], media_root))


@dataclass(frozen=True)
class Sample:
    """One item of a task.

    ``metadata`` (labels, rubrics, ...) is never sent to a model.

    ``candidates`` are contents that only metrics read, such as wrong pictures to
    compare with the right picture.

    ``fault`` says why the sample cannot be sent to a model, with the file and row to
    correct. It is empty for a valid sample. The run sets it for a bad row of the
    loader, or for a medium that cannot be read. A sample with a fault may have no input
    and no labels.
    """

    id: str
    input: tuple[Message, ...]
    references: tuple[Interleaved, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""
    candidates: tuple[Interleaved, ...] = ()
    _digest: str = field(default="", init=False, compare=False, repr=False)
    """The digest is cached, because computing it may read media."""

    @property
    def digest(self) -> str:
        """The digest of all content, including media bytes. Scores refer to it."""
        if not self._digest:
            object.__setattr__(self, "_digest", line_digest(self._placeless_line()))
        return self._digest

    def _placeless_line(self) -> bytes:
        """Returns the sample's JSON line without the paths and names of media.

        Moving or renaming a file does not change the sample.
        """
        # Imported late: listing tasks imports the records but needs no fast JSON.
        from mmeval.system.json_lines import to_line

        row = self.to_json()
        contents = [message_row["content"] for message_row in row["input"]]
        contents += row["references"]
        contents += row.get("candidates", ())
        for content in contents:
            for part in content:
                if "media" in part:
                    part["media"].pop("path", None)
                    part["media"].pop("name", None)
        return to_line(row)

    def to_line(self) -> bytes:
        """Returns the sample's JSON as one line.

        For a sample without media, this also sets the digest.
        """
        from mmeval.system.json_lines import to_line

        line = to_line(self.to_json())
        if not self.has_media:
            # The line has no paths of media, so the digest is computed from this line.
            object.__setattr__(self, "_digest", line_digest(line))
        return line

    @property
    def question(self) -> str:
        """The text of the user's messages, with placeholders for media."""
        return "\n".join(
            message.content.raw for message in self.input if message.role == "user"
        )

    @property
    def contents(self) -> tuple[Interleaved, ...]:
        """All contents: input, references and candidates."""
        return (*(m.content for m in self.input), *self.references, *self.candidates)

    @property
    def has_media(self) -> bool:
        for content in self.contents:
            for part in content.parts:
                if part.media is not None:
                    return True
        return False

    def to_json(self) -> dict[str, Any]:
        row = {
            "id": self.id,
            "input": [m.to_json() for m in self.input],
            "references": [answer.to_json() for answer in self.references],
            "metadata": self.metadata,
        }
        if self.fault:
            row["fault"] = self.fault
        if self.candidates:
            row["candidates"] = [content.to_json() for content in self.candidates]
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any], media_root: Path) -> Sample:
        def read(contents: Sequence[Any]) -> tuple[Interleaved, ...]:
            return tuple(Interleaved.from_json(parts, media_root) for parts in contents)

        return cls(
            id=row["id"],
            input=tuple(Message.from_json(m, media_root) for m in row["input"]),
            references=read(row["references"]),
            metadata=row["metadata"],
            fault=row.get("fault", ""),
            candidates=read(row.get("candidates", ())),
        )


def user(*parts: Part | Media | str) -> Message:
    """Returns a user message from strings, media and parts, in order."""
    return message("user", *parts)


def message(role: MessageRole, *parts: Part | Media | str | Interleaved) -> Message:
    """Returns a message of a role. Parts, media, texts and contents are joined in
    order."""
    content: list[Part] = []
    for part in parts:
        if isinstance(part, Interleaved):
            content.extend(part.parts)
        elif isinstance(part, str):
            content.append(text_part(part))
        else:
            content.append(media_part(part) if isinstance(part, Media) else part)
    return Message(role, Interleaved(tuple(content)))
