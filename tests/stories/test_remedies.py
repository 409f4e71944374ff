"""Whoever does what a remedy says has one finding less."""

import json
import re
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

from mmeval.installation import DISTRIBUTION
from tests.support.faults import (
    GOOD,
    NO_JUDGE,
    TEN,
    TWO,
    YES,
    Fault,
    scene,
    task_text,
    with_hub,
)
from tests.support.servers import Scripted, saying

OWN_COMMAND = "mmeval run"
"""The run's own command, of which this is the beginning."""
NO_TEST_CAN = {"export HF_HOME=FOLDER"}
"""To move to a larger disk."""
TRIED_ELSEWHERE = {"mmeval prepare TASK --prompts --prompts_from CLONE"}
"""In the stories of released prompts."""
END_OF_A_CAUSE = {"--data bundled", "--max_connections N sends several at once"}
"""What looks like a remedy in a snapshot, and is the last line of a long cause."""
BROKEN = Scripted({"error": {"message": "out of order"}}, status=500)
REFUSED_KEY = Scripted({"error": {"message": "no such key"}}, status=401)
BY_HAND = "by_hand: [{path: test.jsonl, source: the page of its authors}]"
OVERALL = "  - metric: includes\n  - metric: overall\n    of: [includes]\n"
REMEDIES: dict[str, tuple[Fault, set[str]]] = {
    "no judge": (TEN["no judge"], {"--judge openai,model=NAME"}),
    "no captioner": (
        Fault("missing_role", "  - metric: semantic_correctness\n"),
        {"--captioner openai,model=NAME", "--judge openai,model=NAME"},
    ),
    "no role of its own": (
        Fault("missing_role", "  - metric: judge_yes_no\n    asks: {judge: gemini}\n"),
        {"--role gemini=openai,model=NAME"},
    ),
    "no weights": (TEN["no weights"], {"mmeval prepare TASK --weights"}),
    "no data": (TEN["no data"], {"mmeval prepare TASK"}),
    "cut off": (TEN["cut off"], {"--gen_kwargs max_gen_toks=N"}),
    "empty beside reasoning": (
        Fault("cut_off", model="openai", answers=(saying(content="<think>2</think>"),)),
        {"--reasoning_tags OPEN,CLOSE --fresh"},
    ),
    "a spent budget": (TEN["a spent budget"], {"--budget_calls N"}),
    "a damaged journal": (TEN["a damaged journal"], {OWN_COMMAND}),
    "a call that failed": (
        Fault(
            "failed", model="openai", answers=(BROKEN, TWO), flags="--retry_on_error 0"
        ),
        {OWN_COMMAND},
    ),
    "a judge whose key was refused": (
        Fault(
            "missing_key",
            NO_JUDGE,
            answers=(REFUSED_KEY, YES),
            flags="--judge openai,model=m",
        ),
        {"mmeval score RUN"},
    ),
    "a judge whose reply did not fit": (
        Fault(
            "unscored",
            "  - metric: judge_grade\n",
            answers=(
                *[saying(content="hm")] * 3,
                saying(content='{"grade": 5, "reason": "r"}'),
            ),
            flags="--judge openai,model=m",
        ),
        {"mmeval score RUN"},
    ),
    "a piece that was skipped": (
        Fault("partial", OVERALL, flags="--skip_metric includes"),
        {"mmeval score RUN --metrics overall"},
    ),
    "media that nobody describes": (
        Fault(
            "unsupported",
            "  - metric: semantic_correctness\n",
            outputs="text, audio",
            flags="--judge openai,model=m --captioner openai,model=m,inputs=text+image",
            seen="check",
        ),
        {"--role captioner.audio=BACKEND"},
    ),
    "a kind that the model is not asked for": (
        Fault(
            "unsupported",
            "partial_output: true\n",
            outputs="text, audio",
            model="openai",
            answers=(TWO,),
            seen="check",
        ),
        {"--model_args model=m,outputs=text+audio"},
    ),
    "data that are fetched by hand": (
        Fault(
            "missing_data",
            tasks="u.yaml",
            files={
                "u.yaml": task_text("u", f"me/gone\n{BY_HAND}"),
                "mine/test.jsonl": json.dumps(GOOD),
            },
            seen="check",
        ),
        {"--data_dir FOLDER"},
    ),
    "a scoring of one metric": (
        Fault(
            "subset",
            "  - metric: wer\n",
            spoil=lambda here: here.score("--metrics", "wer"),
        ),
        {"mmeval score RUN"},
    ),
}


@pytest.mark.parametrize("name", REMEDIES)
def test_a_remedy_removes_its_finding(name: str, tmp_path: Path) -> None:
    fault, remedies = REMEDIES[name]
    with scene(tmp_path, fault) as here:
        found = {finding.remedy for finding in here.of_kind(fault.seen)}
        assert {as_printed(remedy, here.run_folder) for remedy in found} == remedies
        with with_hub(tmp_path):
            done = [here.apply(remedy) for remedy in found]
        assert not here.of_kind(fault.seen), done


def as_printed(remedy: str, run: Path) -> str:
    """A remedy without the places of this test."""
    return without_places(remedy.replace(str(run), "RUN"))


def without_places(remedy: str) -> str:
    if remedy.startswith(OWN_COMMAND):
        return OWN_COMMAND
    remedy = remedy.replace("base_url=URL,", "")
    remedy = remedy.replace("{TASK}", "TASK").replace("{RUN}", "RUN")
    return re.sub(r"runs/\w+/\w+", "RUN", remedy).replace("t.yaml", "TASK")


def test_an_extra_that_a_remedy_installs_is_there_to_be_installed(
    tmp_path: Path,
) -> None:
    fault = TEN["no extra"]
    with scene(tmp_path, fault) as here:
        ((found,),) = [here.of_kind("check")]
        extra = re.fullmatch(r'pip install (-e )?".+\[(\w+)\]"', found.remedy)
        assert extra
        assert extra[2] in metadata(DISTRIBUTION).get_all("Provides-Extra", [])
        del sys.modules[fault.absent]  # from here on it is installed
        assert not here.of_kind("check")


def test_each_remedy_of_the_snapshots_is_one_of_these() -> None:
    proven = {remedy for _, remedies in REMEDIES.values() for remedy in remedies}
    assert printed() <= proven


def printed() -> set[str]:
    """The remedies in the snapshots of all commands: lines of their own below a
    finding."""
    found = set[str]()
    for file in (Path(__file__).parent / "words" / "__snapshots__").glob("*.ambr"):
        if file.stem == "test_help":
            continue
        text = re.sub(r" \\\n +", " ", file.read_text("utf-8"))
        found.update(re.findall(r"^ {8,}((?:mmeval |pip |export |--).*)$", text, re.M))
    remedies = {without_places(remedy) for remedy in found}
    return remedies - END_OF_A_CAUSE - NO_TEST_CAN - TRIED_ELSEWHERE
