from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import TaskFileError, UsageError
from mmeval.settings.flags import BY_NAME, FLAGS, REFUSED
from mmeval.settings.resolve import Setting, resolve


def config(folder: Path, text: str) -> Path:
    (folder / "run.yaml").write_text(text)
    return folder / "run.yaml"


def test_a_flag_wins_over_the_file_the_file_over_the_environment_and_that_over_the_default(
    tmp_path: Path,
) -> None:
    file = config(tmp_path, "limit: 2\noffset: 2\nmax-connections: 5\n")
    environ = {"MMEVAL_LIMIT": "3", "MMEVAL_OFFSET": "3", "MMEVAL_SEED": "3"}
    settings = resolve(FLAGS, {"limit": "1"}, environ, file)
    assert settings["limit"] == Setting(1, "--limit")
    assert settings["offset"] == Setting(2, f"{file}:2: offset")
    assert settings["max_connections"] == Setting(5, f"{file}:3: max-connections")
    assert settings["seed"] == Setting(3, "MMEVAL_SEED")
    assert settings["bootstrap_iters"] == Setting(BY_NAME["bootstrap_iters"].default)


@pytest.mark.parametrize("source", ["flag", "file", "environment"])
@pytest.mark.parametrize("name", ["limit", "num_fewshot"])
def test_a_bad_value_and_a_flag_without_effect_are_refused_by_place(
    tmp_path: Path, name: str, source: str
) -> None:
    file = config(tmp_path, f"{name}: x\n" if source == "file" else "")
    flags: dict[str, Any] = {name: "x"} if source == "flag" else {}
    environ = {f"MMEVAL_{name.upper()}": "x"} if source == "environment" else {}
    origins = {
        "flag": f"--{name}",
        "file": f"{file}:1: {name}",
        "environment": f"MMEVAL_{name.upper()}",
    }
    with pytest.raises(UsageError) as refusal:
        resolve(FLAGS, flags, environ, file)
    assert (refusal.value.exit_code, refusal.value.name) == (2, origins[source])
    assert REFUSED.get(name, "") in str(refusal.value)


def test_a_wrong_key_or_choice_is_refused_by_place_and_no_examples_may_be_asked_for(
    tmp_path: Path,
) -> None:
    with pytest.raises(TaskFileError) as caught:
        resolve(FLAGS, {}, {}, config(tmp_path, "tasks: a\nlimit: 1\nlimit: 2\n"))
    assert (caught.value.line, "limit" in str(caught.value)) == (3, True)
    with pytest.raises(UsageError, match='"official"') as refused:
        resolve(FLAGS, {"profile": "oficial"}, {})
    assert refused.value.name == "--profile"
    assert "num_fewshot" not in resolve(FLAGS, {"num_fewshot": ["0"]}, {}, None)
    assert (
        resolve(FLAGS, {}, {"MMEVAL_LOG_LEVEL": "debug"})["verbosity"].value == "DEBUG"
    )
