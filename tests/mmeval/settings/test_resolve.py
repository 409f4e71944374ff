from pathlib import Path

import pytest

from mmeval.errors import MissingDataError, TaskFileError, UsageError
from mmeval.settings.flags import FLAGS, REFUSED
from mmeval.settings.resolve import resolve, unknown_variables


def test_a_flag_wins_over_the_file_the_file_over_the_environment_and_that_over_the_default(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("limit: 2\noffset: 2\n")
    environ = {"MMEVAL_LIMIT": "3", "MMEVAL_OFFSET": "3", "MMEVAL_SEED": "3"}

    found = resolve(FLAGS, {"limit": "1"}, environ, file)

    assert (found["limit"].value, found["limit"].origin) == (1, "--limit")
    assert (found["offset"].value, found["offset"].origin) == (2, f"{file}:2: offset")
    assert (found["seed"].value, found["seed"].origin) == (3, "MMEVAL_SEED")
    assert (found["max_connections"].value, found["max_connections"].origin) == (64, "")


def test_a_key_may_be_written_with_hyphens(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("max-connections: 5\n")

    assert resolve(FLAGS, {}, {}, file)["max_connections"].value == 5


def test_an_unknown_key_is_refused_with_its_line_and_the_near_name(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("tasks: a\n\nlimt: 5\n")

    with pytest.raises(TaskFileError, match=r'run\.yaml:3: unknown key \'limt\'; did you mean "limit"'):
        resolve(FLAGS, {}, {}, file)


@pytest.mark.parametrize("text", ["limit: 1\nlimit: 2\n", "max-connections: 1\nmax_connections: 2\n"])
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(text)

    with pytest.raises(TaskFileError, match=r":2: .*(twice|second time)"):
        resolve(FLAGS, {}, {}, file)


def test_a_file_that_is_absent_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="does not exist"):
        resolve(FLAGS, {}, {}, tmp_path / "none.yaml")


@pytest.mark.parametrize("source", ["flag", "file", "environment"])
def test_a_bad_value_names_where_it_came_from(tmp_path: Path, source: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("limit: none\n")
    given, environ, named = {"limit": "x"}, {}, "--limit: a count"
    if source == "file":
        given, named = {}, r"run\.yaml:1: limit: a count"
        file.write_text("limit: x\n")
    if source == "environment":
        given, environ, named = {}, {"MMEVAL_LIMIT": "x"}, "MMEVAL_LIMIT: a count"

    with pytest.raises(UsageError, match=named):
        resolve(FLAGS, given, environ, file if source == "file" else None)


@pytest.mark.parametrize("name", sorted(REFUSED))
@pytest.mark.parametrize("source", ["flag", "file", "environment"])
def test_a_flag_without_effect_is_refused_by_name_wherever_it_stands(tmp_path: Path, name: str, source: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(f"{name}: 5\n" if source == "file" else "")
    given = {name: ["5"]} if source == "flag" else {}
    environ = {f"MMEVAL_{name.upper()}": "5"} if source == "environment" else {}

    with pytest.raises(UsageError, match=rf"(?i){name}:? has no effect here: ") as refusal:
        resolve(FLAGS, given, environ, file)

    assert refusal.value.exit_code == 2
    assert REFUSED[name] in str(refusal.value)


def test_no_examples_in_the_prompt_may_be_asked_for_because_there_are_none() -> None:
    assert "num_fewshot" not in resolve(FLAGS, {"num_fewshot": ["0"]}, {}, None)


def test_a_variable_that_nothing_reads_is_told() -> None:
    warnings = unknown_variables({"MMEVAL_LIMITS": "5", "MMEVAL_LIMIT": "5", "MMEVAL_LOG_LEVEL": "INFO", "HOME": "/"})

    assert len(warnings) == 1
    assert 'MMEVAL_LIMITS has no effect; did you mean "MMEVAL_LIMIT"' in warnings[0]


def test_the_log_level_has_a_variable_of_its_own_that_errors_name() -> None:
    assert resolve(FLAGS, {}, {"MMEVAL_LOG_LEVEL": "debug"})["verbosity"].value == "DEBUG"

    with pytest.raises(UsageError, match=r"^MMEVAL_LOG_LEVEL: one of DEBUG"):
        resolve(FLAGS, {}, {"MMEVAL_LOG_LEVEL": "loud"})
