from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, TaskFileError, UsageError
from mmeval.settings.flags import FLAGS, REFUSED
from mmeval.settings.resolve import Setting, resolve, unknown_variables


def config(folder: Path, text: str) -> Path:
    (folder / "run.yaml").write_text(text)
    return folder / "run.yaml"


def test_a_flag_wins_over_the_file_the_file_over_the_environment_and_that_over_the_default(tmp_path: Path) -> None:
    file = config(tmp_path, "limit: 2\noffset: 2\n")
    environ = {"MMEVAL_LIMIT": "3", "MMEVAL_OFFSET": "3", "MMEVAL_SEED": "3"}
    found = resolve(FLAGS, {"limit": "1"}, environ, file)
    assert [found[name] for name in ("limit", "offset", "seed", "max_connections")] == [
        Setting(1, "--limit"),
        Setting(2, f"{file}:2: offset"),
        Setting(3, "MMEVAL_SEED"),
        Setting(64),
    ]


def test_a_key_may_be_written_with_hyphens(tmp_path: Path) -> None:
    assert resolve(FLAGS, {}, {}, config(tmp_path, "max-connections: 5\n"))["max_connections"].value == 5


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("tasks: a\n\nlimt: 5\n", 3, '"limit"'),
        ("limit: 1\nlimit: 2\n", 2, "limit"),
        ("max-connections: 1\nmax_connections: 2\n", 2, "max_connections"),
        ("config: other.yaml", 1, "configuration"),
    ],
    ids=["unknown", "twice", "twice spelt", "another file"],
)
def test_a_wrong_key_is_refused_with_its_line(tmp_path: Path, text: str, line: int, word: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        resolve(FLAGS, {}, {}, config(tmp_path, text))
    assert caught.value.line == line
    assert word in str(caught.value)


def test_a_file_that_is_absent_is_missing_data(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError):
        resolve(FLAGS, {}, {}, tmp_path / "none.yaml")


@pytest.mark.parametrize("source", ["flag", "file", "environment"])
@pytest.mark.parametrize("name", ["limit", *sorted(REFUSED)])
def test_a_bad_value_and_a_flag_without_effect_are_refused_by_place(tmp_path: Path, name: str, source: str) -> None:
    file = config(tmp_path, f"{name}: x\n" if source == "file" else "")
    given: dict[str, Any] = {name: "x"} if source == "flag" else {}
    environ = {f"MMEVAL_{name.upper()}": "x"} if source == "environment" else {}
    origins = {"flag": f"--{name}", "file": f"{file}:1: {name}", "environment": f"MMEVAL_{name.upper()}"}
    with pytest.raises(UsageError) as refusal:
        resolve(FLAGS, given, environ, file)
    assert (refusal.value.exit_code, refusal.value.name) == (2, origins[source])
    assert REFUSED.get(name, "") in str(refusal.value)


def test_a_value_that_is_none_of_the_choices_is_refused_with_the_near_one() -> None:
    with pytest.raises(UsageError, match='"official"') as caught:
        resolve(FLAGS, {"profile": "oficial"}, {})
    assert caught.value.name == "--profile"


def test_no_examples_in_the_prompt_may_be_asked_for_because_there_are_none() -> None:
    assert "num_fewshot" not in resolve(FLAGS, {"num_fewshot": ["0"]}, {}, None)


def test_a_variable_that_nothing_reads_is_warned_of() -> None:
    known = {"MMEVAL_LIMIT": "5", "MMEVAL_LOG_LEVEL": "INFO", "HOME": "/"}
    (warning,) = unknown_variables({"MMEVAL_LIMITS": "5", **known})
    assert "MMEVAL_LIMITS" in warning and '"MMEVAL_LIMIT"' in warning


def test_the_log_level_has_a_variable_of_its_own_that_errors_name() -> None:
    assert resolve(FLAGS, {}, {"MMEVAL_LOG_LEVEL": "debug"})["verbosity"].value == "DEBUG"
    with pytest.raises(UsageError) as caught:
        resolve(FLAGS, {}, {"MMEVAL_LOG_LEVEL": "loud"})
    assert caught.value.name == "MMEVAL_LOG_LEVEL"
