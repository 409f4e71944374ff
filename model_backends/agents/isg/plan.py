"""Reads plans: steps that call a tool, write a text or add pictures to the answer.

    [{"Step": 1, "Task": "Call_tool", "Input_text": "Use ImageEdit tool: ...", "Input_images": ["#image1#"]},
     {"Step": 2, "Task": "Caption", "Input_text": "Describe ...", "Input_images": ["<GEN_0>"]},
     {"Step": 3, "Task": "AddImage", "Input_images": ["<GEN_0>"]}]

``#image1#`` is the first picture of the task, and ``<GEN_0>`` is the first picture made
by a tool.
"""  # noqa: E501

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mmeval.metric.judge import ReplyError

CALL, CAPTION, ADD = "Call_tool", "Caption", "AddImage"
LABELS = (CALL, CAPTION, ADD)
_TASK_NAME = re.compile(r"#image(\d{1,4})#")
_MADE_NAME = re.compile(r"<GEN_(\d{1,4})>")


class PlanStep(NamedTuple):
    """A step as the planner wrote it.

    Its label may be invalid (not in ``LABELS``), and its pictures may not exist.
    """

    label: str
    text: str = ""
    images: tuple[str, ...] = ()

    @property
    def needs(self) -> set[int]:
        """The numbers of the made pictures that the step names."""
        return set(map(made_number, self.images)) - {-1}

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"Task": self.label}
        if self.text:
            row["Input_text"] = self.text
        row["Input_images"] = list(self.images)
        return row


def made_number(name: str) -> int:
    """Returns 0 for ``<GEN_0>``, 1 for ``<GEN_1>``, and -1 for any other name."""
    match = _MADE_NAME.fullmatch(name)
    return -1 if match is None else int(match[1])


def task_number(name: str) -> int:
    """Returns 0 for ``#image1#``, 1 for ``#image2#``, and -1 for any other name."""
    match = _TASK_NAME.fullmatch(name)
    return -1 if match is None else int(match[1]) - 1


def steps_of(rows: Sequence[Mapping[str, Any]]) -> list[PlanStep]:
    """Reads the steps in the rows of a reply. Raises ReplyError."""
    steps = []
    for number, row in enumerate(rows, 1):
        label = row.get("Task")
        text = row.get("Input_text") or ""
        images = row.get("Input_images") or []
        if isinstance(images, str):
            images = [images]
        if not isinstance(label, str):
            raise ReplyError(f"the Task of step {number} is not a string")
        if not isinstance(text, str):
            raise ReplyError(f"the Input_text of step {number} is not a string")
        is_list = isinstance(images, list)
        if not is_list or not all(isinstance(name, str) for name in images):
            raise ReplyError(f"Input_images of step {number} is not a list of strings")
        names = tuple(name.strip() for name in images)
        steps.append(PlanStep(label.strip(), text.strip(), names))
    return steps


def plan_text(steps: Sequence[PlanStep]) -> str:
    """Writes a plan as text for a prompt."""
    rows = []
    for number, step in enumerate(steps, 1):
        rows.append({"Step": number, **step.to_json()})
    return json.dumps(rows, ensure_ascii=False, indent=1)


def example(
    layout: Sequence[str], tool: str, source: Sequence[str], *, sound: bool
) -> str:
    """Returns a plan for an answer with these blocks, for dry runs.

    ``tool`` makes the plan's pictures. If ``sound`` is False, the plan contains an
    invalid step, so the dry run also refines a plan.
    """
    blocks = layout or ("<gen_text1>", "<gen_img1>")
    picture_count = sum("_img" in token for token in blocks) if tool else 0
    steps: list[PlanStep] = []
    made_pictures = 0
    for token in blocks:
        if "_text" in token:
            pictures = (f"<GEN_{max(made_pictures - 1, 0)}>",) if picture_count else ()
            steps.append(PlanStep(CAPTION, "Say what can be seen.", pictures))
        elif tool:
            steps += [
                PlanStep(CALL, f"Use {tool} tool: a thing", tuple(source)),
                PlanStep(ADD, images=(f"<GEN_{made_pictures}>",)),
            ]
            made_pictures += 1
    if not sound:
        steps.append(PlanStep("Check"))
    return plan_text(steps)
