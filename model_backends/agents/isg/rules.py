"""What the definition of ISG-Agent and the released agent decide differently, each difference a pair of functions."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from mmeval.agent import rounds_of
from mmeval.backend import Tool
from mmeval.content import Interleaved, Part
from mmeval.judge import ReplyError, read_objects
from mmeval.model_backends.agents.isg.dispatch import Selected
from mmeval.records import GenerationParams

_SAMPLING = {
    "plan": GenerationParams(temperature=0.5, max_tokens=4096),
    "select": GenerationParams(max_tokens=512),
    "refine": GenerationParams(temperature=0.7, max_tokens=4096),
    "smooth": GenerationParams(temperature=0.0, max_tokens=4096),
}


class Rules(NamedTuple):
    """What a profile decides; a text that may be a problem is empty where there is none."""

    rows: Callable[[str], list[dict[str, Any]]]
    """The rows of a plan in a reply. Raises ReplyError."""
    sampling: Callable[[str, GenerationParams], GenerationParams]
    """The parameters of a step by its title; given are those of the request."""
    order: Callable[[Sequence[Collection[int]]], list[list[int]]]
    """The steps that are carried out at the same time, by the pictures that each needs."""
    crowded: Callable[[Tool, int], str]
    """The problem of a tool in a plan with so many steps that call one, before it is asked."""
    discarded: Callable[[int, int], str]
    """The problem of a step at this place that has made so many pictures."""
    taken: Callable[[Selected, Sequence[Part]], Sequence[Part] | str]
    """The pictures that count of those that a tool has made, or the problem."""
    first_number: Callable[[int, int], int]
    """The number of the first picture of a step at this place, after so many pictures."""
    stops: Callable[[bool], bool]
    """Whether no more pictures are made, by whether a step has failed."""
    absent: Callable[[str], str]
    """The problem of a picture that is added and not there."""
    failed_caption: Callable[[str], str]
    """The text in the place of a caption that failed."""
    joined: Callable[[Sequence[str]], str]
    """Captions in a row as one text."""
    given_up: Callable[[Interleaved], Interleaved]
    """The answer where problems are left after the last refinement."""


def request_sampling(_title: str, params: GenerationParams) -> GenerationParams:
    return params


def released_sampling(title: str, params: GenerationParams) -> GenerationParams:
    """Official: each step has the parameters of the released agent."""
    return _SAMPLING.get(title, params)


def released_rows(text: str) -> list[dict[str, Any]]:
    """Official: what stands from the first bracket to the one that closes it, those within texts counted too."""
    start, depth = text.find("["), 0
    for at in range(max(start, 0), len(text)):
        depth += {"[": 1, "]": -1}.get(text[at], 0)
        if text[at] == "]" and depth == 0:
            try:
                rows = json.loads(text[start : at + 1])
            except (ValueError, RecursionError) as error:
                raise ReplyError(f"the first brackets of the reply hold no JSON: {error}") from None
            if rows and all(isinstance(row, dict) for row in rows):
                return list(rows)
            raise ReplyError("the first brackets of the reply hold no list of objects")
    raise ReplyError("the reply has no brackets that are closed")


def together(needs: Sequence[Collection[int]]) -> list[list[int]]:
    """Each step as soon as the pictures that it needs are made."""
    return rounds_of([[one for one in need if one < at] for at, need in enumerate(needs)]).order


def one_by_one(needs: Sequence[Collection[int]]) -> list[list[int]]:
    """Official: in the order of the plan."""
    return [[at] for at in range(len(needs))]


def refused_beside_others(tool: Tool, calls: int) -> str:
    """A tool that makes several pictures stands alone, whether the other step comes before it or after."""
    return "it makes several pictures, and is used beside another tool" if tool.parts != 1 and calls > 1 else ""


def never_refused(_tool: Tool, _calls: int) -> str:
    """Official: the number of pictures is seen when they are there."""
    return ""


def never_discarded(_at: int, _made: int) -> str:
    return ""


def discarded_after_another(at: int, made: int) -> str:
    """Official: several pictures are dropped if another step came before; one that comes after is not noticed."""
    return "it made several pictures after another tool" if at and made > 1 else ""


def as_asked(selected: Selected, parts: Sequence[Part]) -> Sequence[Part] | str:
    return selected.checked(parts)


def as_they_come(selected: Selected, parts: Sequence[Part]) -> Sequence[Part] | str:
    """Official: any number of pictures; views are sorted by their fraction of a turn to the right."""
    turns = selected.wanted.turns
    if len(turns) != len(parts):
        return parts
    return [parts[at] for at in sorted(range(len(parts)), key=turns.__getitem__)]


def number_of_step(at: int, _before: int) -> int:
    return at


def number_of_pictures(_at: int, before: int) -> int:
    """Official: pictures are numbered as they come."""
    return before


def goes_on(_failed: bool) -> bool:
    """The steps are carried out that do not need the failed one."""
    return False


def stops_when_failed(failed: bool) -> bool:
    """Official: the first step that makes no picture is the last one."""
    return failed


def reported(name: str) -> str:
    return f"{name:.40} is no picture of the task, and none that was made"


def passed_over(_name: str) -> str:
    """Official: a picture that is not there vanishes."""
    return ""


def no_text(_why: str) -> str:
    return ""


def error_as_text(why: str) -> str:
    """Official: the error of a caption becomes a part of the answer."""
    return why


def apart(texts: Sequence[str]) -> str:
    return "\n\n".join(text for one in texts if (text := one.strip()))


def glued(texts: Sequence[str]) -> str:
    """Official: nothing stands between captions."""
    return "".join(texts).strip()


def last_answer(answer: Interleaved) -> Interleaved:
    return answer


def skipped(_answer: Interleaved) -> Interleaved:
    """Official: the sample has no answer."""
    return Interleaved()


STANDARD = Rules(
    rows=read_objects,
    sampling=request_sampling,
    order=together,
    crowded=refused_beside_others,
    discarded=never_discarded,
    taken=as_asked,
    first_number=number_of_step,
    stops=goes_on,
    absent=reported,
    failed_caption=no_text,
    joined=apart,
    given_up=last_answer,
)
OFFICIAL = Rules(
    rows=released_rows,
    sampling=released_sampling,
    order=one_by_one,
    crowded=never_refused,
    discarded=discarded_after_another,
    taken=as_they_come,
    first_number=number_of_pictures,
    stops=stops_when_failed,
    absent=passed_over,
    failed_caption=error_as_text,
    joined=glued,
    given_up=skipped,
)
