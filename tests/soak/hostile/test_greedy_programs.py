"""Programs that take memory in sixty ways: none holds a tenth more than it may."""

import pytest

from tests.support.hostile_memory import GreedyProgram, greedy_programs
from tests.support.sandbox import run_code

LIMIT_MIB = 256
TENTH_MORE_MIB = 280
PROGRAMS = list(greedy_programs(TENTH_MORE_MIB, seconds=1000))
SMALL_PROGRAMS = list(greedy_programs(LIMIT_MIB // 2, seconds=1))[::12]


def name_of(program: GreedyProgram) -> str:
    return program.name


def test_there_are_sixty() -> None:
    assert len({program.code for program in PROGRAMS}) >= 60


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_a_greedy_program_is_ended_for_its_memory(program: GreedyProgram) -> None:
    response = run_code(program.code, memory_mb=LIMIT_MIB, seconds=60)
    [warning] = response.warnings
    assert warning == f"the program reached the limit of memory: {LIMIT_MIB} MiB"


@pytest.mark.parametrize("program", SMALL_PROGRAMS, ids=name_of)
def test_a_program_below_its_limit_is_not_ended(program: GreedyProgram) -> None:
    """The same programs in small: what ends the others is their memory."""
    response = run_code(program.code, memory_mb=LIMIT_MIB, seconds=60)
    assert response.warnings == ()
