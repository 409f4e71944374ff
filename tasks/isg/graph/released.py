"""Values that only the released prompts of question generation use.

The authors released the prompts, but not the script that fills them. An example is its
task or triples, then its blocks if the stage has them, and the reply, line by line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VALUES = ("example_second", "example_third", "detailed", "pictures")
_LINES = ("query", "structure", "reply")
_LINES_OF_QUESTIONS = ("triples", "reply")


def stage_values(
    examples: Sequence[Mapping[str, str]],
    *,
    requirement: str,
    shows_pictures: bool,
) -> dict[str, str]:
    """Returns the values of a stage. A missing example is empty."""
    written = [_written(example) for example in examples]
    second, third = [*written, "", ""][:2]
    return {
        "example_second": second,
        "example_third": third,
        "detailed": "yes" if requirement == "detailed" else "",
        "pictures": "yes" if shows_pictures else "",
    }


def _written(example: Mapping[str, str]) -> str:
    names = _LINES_OF_QUESTIONS if example["triples"] else _LINES
    # the reply of the first stage is its structure, which is written once
    lines = dict.fromkeys(example[name] for name in names)
    return "\n".join(lines)
