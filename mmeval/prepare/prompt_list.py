"""Lists the prompts of tasks and agents: our own, and those that authors released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mmeval.prepare.released_catalogues import catalogues_of, chosen_by
from mmeval.prepare.released_prompts import State, cached_state, figure_states
from mmeval.task.build import build
from mmeval.task.released.catalogue import Catalogue, read_catalogue


@dataclass(frozen=True)
class ListedPrompt:
    """A prompt of a task or an agent, or a released text.

    ``names`` are the prompts of mmeval that the text belongs to. ``id`` is empty for
    our own prompts, ``sha256`` for a prompt that stands in a figure only.
    """

    names: tuple[str, ...]
    words: Literal["own", "released"]
    id: str
    sha256: str
    state: State


def listed_prompts(
    names: Sequence[str], include_path: Sequence[Path]
) -> Iterator[ListedPrompt]:
    """Yields the prompts of tasks and agents, our own first, each once.

    Raises UnknownNameError for a name that selects neither.
    """
    tasks, agents = chosen_by(names, include_path)
    own: dict[tuple[str, str], None] = {}
    for agent in agents:
        for record in agent.prompts().records(agent.prompt_names):
            own[record["name"], record["sha256"]] = None
    for file in tasks:
        for prompt in build(file).prompts:
            own[prompt["name"], prompt["sha256"]] = None
    for name, sha256 in own:
        yield ListedPrompt((name,), "own", "", sha256, "here")
    for path in catalogues_of(tasks, agents):
        yield from _released(read_catalogue(path))


def _released(catalogue: Catalogue) -> Iterator[ListedPrompt]:
    names = _names_by_id(catalogue)
    for file in catalogue.files:
        digests = {prompt.id: prompt.sha256 for prompt in file.keys.prompts}
        for prompt in cached_state(file).prompts:
            digest = digests[prompt.id]
            yield ListedPrompt(
                names[prompt.id], "released", prompt.id, digest, prompt.state
            )
    for figure in figure_states([catalogue]):
        yield ListedPrompt(names[figure.id], "released", figure.id, "", figure.state)


def _names_by_id(catalogue: Catalogue) -> Mapping[str, tuple[str, ...]]:
    """Returns the prompts of mmeval that each released text belongs to."""
    names: dict[str, dict[str, None]] = {}
    released: list[Any] = [*catalogue.figures]
    for file in catalogue.files:
        released += file.keys.prompts
    for prompt in released:
        names[prompt.id] = dict.fromkeys(prompt.replaces)
    for template in catalogue.templates:
        for prompt_id in template.all_ids:
            names[prompt_id][template.prompt] = None
    return {prompt_id: tuple(of) for prompt_id, of in names.items()}
