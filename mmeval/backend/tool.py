"""Tools: what an agent may call for one kind of part."""

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
    """A tool; its ``name`` is also that of its role: ``--role text_to_image=...``.

    It makes ``parts`` of the kind ``makes`` out of parts of the kinds ``takes``; 0: as
    many as a call's option ``n``. ``about`` is one sentence for a planner's prompt;
    ``backend`` names a backend for it.
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
        """A call of the tool, for a program to yield; the named arguments are as in
        ``Call``.

        ``system`` is an instruction beside the parts, such as how a text is to be read
        aloud. Options lack the kind's prefix: ``tool.call("a hare", size="512x512")``
        asks with ``image.size``.
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
        """What the tool has made: the first part of its kind in a reply, or why there
        is none."""
        found = self.all_made(reply)
        return found if isinstance(found, str) else found[0]

    def all_made(self, reply: Reply) -> list[Part] | str:
        """All parts of its kind in a reply, or why there is none."""
        if reply.response.output is None:
            error = reply.response.error
            if error is None:
                return f"{self.name} failed"
            return f"{self.name} failed ({error.kind}: {error.message:.200})"
        made: list[Part] = []
        kinds: set[str] = set()
        for part in reply.response.output.parts:
            if part.kind == "reasoning" or part.dangling:
                continue
            kinds.add(part.kind)
            if part.kind == self.makes:
                made.append(part)
        if made:
            return made
        given = " and ".join(sorted(kinds)) or "nothing"
        return f"{self.name} gave {given}, no {self.makes}"


def load_tool(name: str) -> Tool:
    """A tool by its name. Raises UnknownNameError, or PluginError for what is no
    tool."""
    return plugins.load_as("mmeval.tools", name, Tool, "make it a mmeval.backend.Tool")
