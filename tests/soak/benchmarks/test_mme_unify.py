"""MME-Unify: right answers of every task, and a maze that is killed."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.stories.test_mme_unify import REPLY, asked, openai, run, values
from tests.support.cli import QUIET, environment, mmeval, run_folder
from tests.support.mock_openai_server import MockServer
from tests.support.models import weights_folder

CEILING = ("SIPU", "MITIU", "VPU", "FIR", "IEE", "CSQ", "AL", "SD", "VCoT")
"""Tasks whose score is 1 for the reference; the others have parts of which nobody knows
the best value."""


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment in which networks of random weights are found."""
    return environment(
        MMEVAL_WEIGHTS_DIR=str(weights_folder(tmp_path_factory.mktemp("weights")))
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MockServer]:
    replies = tmp_path / "replies.jsonl"
    replies.write_text(json.dumps({"reply": REPLY}))
    with MockServer(replies=str(replies)) as found:
        yield found


def test_the_reference_has_the_best_score_wherever_there_is_one(
    tmp_path: Path, weights: Mapping[str, str]
) -> None:
    done = run("mme_unify", tmp_path, "--model", "reference", env=weights)
    found = values(tmp_path)
    assert {name: found[name.lower()] for name in CEILING} == dict.fromkeys(
        CEILING, 1.0
    ), done.err
    assert [found[part] for part in ("understanding", "unify")] == [1.0, 1.0]
    plus = values(tmp_path, number="mme_unify_plus")
    assert plus == dict.fromkeys(("iee", "csq", "al", "sd", "vcot"), 1.0)
    table = mmeval("report", run_folder(tmp_path, "reference"), "--layout", "mme_unify")
    assert [f"MME-Unify, table {number}: " in table.out for number in (2, 3, 4)] == [
        True
    ] * 3


def test_a_maze_that_is_killed_in_its_third_turn_repeats_no_call(
    tmp_path: Path, server: MockServer
) -> None:
    words = (
        "--tasks",
        "mme_unify_vcot",
        "--data",
        "bundled",
        "--offset",
        "1",
        *openai(server),
        *QUIET,
    )
    words = (*words, "--output_path", str(tmp_path / "runs"))
    dying = [sys.executable, "-m", "tests.soak.support.dying", "line", "3", *words]
    killed = subprocess.run(dying, env=environment(), capture_output=True, check=False)
    assert (killed.returncode, asked(server)) == (-signal.SIGKILL, 3), killed.stderr
    ended = mmeval(*words)
    assert (ended.code, asked(server)) == (0, 4), ended.err
    assert values(tmp_path / "runs", number="mme_unify_action") == {"vcot": 1 / 3}
