"""Runs several programs at once, in one program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from mmeval.program.calls import Call, Program, Reply, ask_all, next_calls

T = TypeVar("T")


def together(programs: Sequence[Program[T]]) -> Program[list[T]]:
    """Runs programs concurrently, and returns their results in the same order.

    The next calls of all programs are yielded as one list, so that all programs
    together take as many round trips as the longest one. Raises the exceptions of the
    programs.
    """
    results: dict[int, T] = {}
    replies: dict[int, Reply | list[Reply] | None] = dict.fromkeys(range(len(programs)))
    while replies:
        calls: list[Call] = []
        yielded: dict[int, Call | Sequence[Call]] = {}
        for position, sent in replies.items():
            try:
                next_step = next_calls(programs[position], sent)
            except StopIteration as stop:
                results[position] = stop.value
                continue
            yielded[position] = next_step
            if isinstance(next_step, Call):
                calls.append(next_step)
            else:
                calls += next_step

        answers = iter((yield from ask_all(calls)) if calls else [])
        replies = {}
        for position, step in yielded.items():
            if isinstance(step, Call):
                replies[position] = next(answers)
            else:
                replies[position] = [next(answers) for _ in step]
    return [results[position] for position in range(len(programs))]
