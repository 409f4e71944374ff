"""Carries out a plan: first its pictures are made, then texts and pictures are put together as the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from mmeval.content import Interleaved, Part, text_part
from mmeval.model_backends.agents.isg.dispatch import Selected
from mmeval.model_backends.agents.isg.plan import ADD, CALL, CAPTION, LABELS, Step, made_number, task_number
from mmeval.model_backends.agents.isg.team import Team, bare, words
from mmeval.program import Program, ask_all


class Problem(NamedTuple):
    """What went wrong in a step of a plan, counted from 1."""

    step: int
    what: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.what}"


class Made(NamedTuple):
    """A picture, and which of the steps that call tools has made it, from 0."""

    part: Part
    at: int


@dataclass
class Execution:
    """A plan that is carried out; ``made`` are the pictures by the numbers of ``<GEN_k>``."""

    team: Team
    steps: Sequence[Step]
    log: list[Problem] = field(default_factory=list)
    made: dict[int, Made] = field(default_factory=dict)

    def answer(self) -> Program[Interleaved]:
        """Both passes."""
        yield from self._make()
        return (yield from self._put_together())

    def _make(self) -> Program[None]:
        """The first pass: steps that call tools, each with its place among these. It ends with those that are asked at
        the same time as one that has a problem."""
        calls = [number for number, step in enumerate(self.steps, 1) if step.label == CALL]
        for number in calls[self.team.max_items :][:1]:
            self._note(number, f"a plan calls tools in {self.team.max_items} steps at most")
        calls = calls[: self.team.max_items]
        for now in self.team.profile.order([self.steps[number - 1].needs for number in calls]):
            problems = len(self.log)
            ready = {at: parts for at in now if (parts := self._pictures(calls[at], at)) is not None}
            chosen = yield from self._select(ready, calls)
            yield from self._draw(ready, chosen, calls)
            if len(self.log) > problems:
                return

    def _select(self, ready: Mapping[int, Sequence[Part]], calls: Sequence[int]) -> Program[dict[int, Selected]]:
        """The tools of steps that have their pictures."""
        team, asked, chosen = self.team, {}, dict[int, Selected]()
        for at, pictures in ready.items():
            text = self.steps[calls[at] - 1].text
            if what := team.tools.unplayed(text):
                self._note(calls[at], what)
                continue
            asked[at] = team.call(
                "select",
                read=team.tools.selected,
                example=team.tools.example(text),
                step=text,
                pictures=len(pictures),
                tools=team.tools.to_json(),
            )
        replies = (yield from ask_all([*asked.values()])) if asked else []
        for at, reply in zip(asked, replies, strict=True):
            if what := team.problem(reply):
                self._note(calls[at], f"no tool is chosen: {what}")
                continue
            found = team.tools.selected(reply.text)
            needed, given = found.kind.pictures, len(ready[at])
            what = f"it needs {needed} pictures, and has {given}" if needed != given else ""
            what = what or team.profile.crowded(found.tool, len(calls), at, 0)
            if what:
                self._note(calls[at], f"{found.kind.name}: {what}")
            else:
                chosen[at] = found
        return chosen

    def _draw(
        self, ready: Mapping[int, Sequence[Part]], chosen: Mapping[int, Selected], calls: Sequence[int]
    ) -> Program[None]:
        """The pictures of steps whose tool is chosen."""
        profile, options = self.team.profile, self.team.request.params.options_of("image")
        asked = [selected.call(ready[at], options) for at, selected in chosen.items()]
        replies = (yield from ask_all(asked)) if asked else []
        for (at, selected), reply in zip(chosen.items(), replies, strict=True):
            self.team.problem(reply)
            found = selected.tool.all_made(reply)
            parts = found if isinstance(found, str) else profile.taken(selected, found)
            if not isinstance(parts, str):
                parts = profile.crowded(selected.tool, len(calls), at, len(parts)) or parts
            if isinstance(parts, str):
                self._note(calls[at], f"{selected.kind.name}: {parts}")
                continue
            for number, part in enumerate(parts, profile.first_number(at, len(self.made))):
                self.made[number] = Made(bare(part), at)

    def _put_together(self) -> Program[Interleaved]:
        """The second pass: steps that add pictures and texts."""
        steps = self._of_answer()
        texts = yield from self._captions([number for number, step in steps if step.label == CAPTION])
        blocks: list[Part] = []
        for number, step in steps:
            if step.label == CAPTION:
                blocks.append(text_part(texts[number]))
            for name in step.images if step.label == ADD else ():
                if (part := self._picture(name)) is not None:
                    blocks.append(part)
                elif what := self.team.profile.absent(name):
                    self._note(number, what)
        parts: list[Part] = []
        for is_text, run in groupby(blocks, key=lambda part: part.kind == "text"):
            text = self.team.profile.joined([part.text or "" for part in (run if is_text else ())])
            parts += ([text_part(text)] if text else []) if is_text else run
        return Interleaved(tuple(parts))

    def _of_answer(self) -> list[tuple[int, Step]]:
        """The steps that add pictures and texts, up to one with another label, and to the most that an answer holds."""
        found: list[tuple[int, Step]] = []
        blocks = 0
        for number, step in enumerate(self.steps, 1):
            blocks += len(step.images) if step.label == ADD else step.label == CAPTION
            if step.label not in LABELS or blocks > self.team.max_items:
                most = f"an answer has {self.team.max_items} texts and pictures at most"
                self._note(number, most if step.label in LABELS else f"{step.label:.40} is none of {', '.join(LABELS)}")
                break
            found += [(number, step)] if step.label != CALL else []
        return found

    def _captions(self, numbers: Sequence[int]) -> Program[dict[int, str]]:
        """The texts of steps."""
        texts = dict.fromkeys(numbers, "")
        asked = {}
        for number in numbers:
            pictures = self._pictures(number)
            if pictures is None:
                texts[number] = self.team.profile.failed_caption(self.log[-1].what)
                continue
            step, shown = self.steps[number - 1].text, Interleaved(tuple(pictures))
            example = "This picture shows a thing."
            asked[number] = self.team.call("caption", read=words, example=example, step=step, pictures=shown)
        left = [*asked]
        for now in self.team.profile.order([()] * len(left)):
            replies = yield from ask_all([asked[left[at]] for at in now])
            for at, reply in zip(now, replies, strict=True):
                what = self.team.problem(reply)
                texts[left[at]] = self.team.profile.failed_caption(what) if what else reply.text
                if what:
                    self._note(left[at], what)
        return texts

    def _pictures(self, number: int, before: int | None = None) -> list[Part] | None:
        """The pictures that a step names, of those that were made ``before`` a place; None where one is not there."""
        found: list[Part] = []
        for name in self.steps[number - 1].images:
            part = self._picture(name, before)
            if part is None:
                self._note(number, f"{name:.40} is no picture of the task, and none that was made before")
                return None
            found.append(part)
        return found

    def _picture(self, name: str, before: int | None = None) -> Part | None:
        given, made = task_number(name), self.made.get(made_number(name))
        if made is not None:
            return made.part if before is None or made.at < before else None
        return self.team.pictures[given] if 0 <= given < len(self.team.pictures) else None

    def _note(self, number: int, what: str) -> None:
        self.log.append(Problem(number, what))
