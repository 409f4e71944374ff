"""Tools, which are roles that an agent calls to make parts of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mmeval import plugins
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, PartKind
from mmeval.program.calls import Accept, Call, Reply, Role
from mmeval.records.request import GenerationParams

if TYPE_CHECKING:  # it decodes, which programs do not
    from mmeval.program.route import Route


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of agents. Its ``name`` is also its role: ``--role text_to_image=...``.

    The tool makes ``parts`` parts of the kind ``makes`` from parts of the kinds
    ``takes``. If ``parts`` is 0, the option ``n`` of a call sets the number of parts.
    ``about`` is one sentence for a planner's prompt. ``backend`` is the name of a
    backend for the tool.
    """

    name: str
    makes: PartKind
    about: str
    backend: str
    takes: tuple[PartKind, ...] = ("text",)
    parts: int = 1

    def call(
        self,
        *parts: Part | Media | str | Interleaved,
        system: str = "",
        accept: Accept | None = None,
        example: str = "",
        convert: Sequence[str | Route] = (),
        title: str = "",
        **options: Any,
    ) -> Call:
        """Returns a call of the tool, for a program to yield.

        The keyword arguments are those of ``Call``.

        ``system`` is an instruction in addition to the parts, for example how to read a
        text aloud. Options are written without the prefix of their kind: ``tool.call("a
        hare", size="512x512")`` sets ``image.size``.
        """
        params = GenerationParams.from_mapping(
            {f"{self.makes}.{name}": value for name, value in options.items()}
        )
        return Role(self.name, params).ask(
            *parts,
            system=system,
            wants=(self.makes,),
            accept=accept,
            example=example,
            convert=convert,
            title=title,
        )

    def made(self, reply: Reply) -> Part | str:
        """Returns the first part of the tool's kind in a reply.

        If there is none, returns a string that explains why.
        """
        parts = self.all_made(reply)
        return parts if isinstance(parts, str) else parts[0]

    def all_made(self, reply: Reply) -> list[Part] | str:
        """Returns all parts of the tool's kind in a reply.

        If there are none, returns a string that explains why.
        """
        if reply.response.output is None:
            error = reply.response.error
            if error is None:
                return f"{self.name} failed"
            return f"{self.name} failed ({error.kind}: {error.message:.200})"
        parts: list[Part] = []
        kinds: set[str] = set()
        for part in reply.response.output.parts:
            if part.kind == "reasoning" or part.dangling:
                continue
            kinds.add(part.kind)
            if part.kind == self.makes:
                parts.append(part)
        if parts:
            return parts
        output = " and ".join(sorted(kinds)) or "nothing"
        return f"{self.name} gave {output}, no {self.makes}"


def load_tool(name: str) -> Tool:
    """Loads a tool by its name.

    Raises UnknownNameError, or PluginError for an object that is not a tool.
    """
    return plugins.load_as("mmeval.tools", name, Tool, "make it a mmeval.backend.Tool")
