from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.words import RUN, TINY, Case, listed, shown

AGENT = RUN.replace("reference", "toy_agent")
LINES = {
    "c.jsonl": '{"id": "a", "prompt": "draw", "replies": {"helper": ["one", "two"]}}\n'
    '{"id": "b", "prompt": "draw", "replies": {"helper": ["one", {"error": '
    '"timeout"}]}}\n'
}
DRIVEN = """
    toy_agent | toy_agnt --prompt x | toy --prompt x | toy_agent --prompt x | toy_agent --prompt x --model_args rounds=1
    toy_agent --prompt x --cases c.jsonl | toy_agent --cases c.jsonl | toy_agent --prompt x gone.png
"""
CAST = """
    --role helper=toy --role text_to_imag=toy
    --role helpr=toy | --role helper=toy --role painter=toy | --role helper=toy_agent
    --role helper=toy --role text_to_image=toy_local | --role helper=toy,gen.temprature=1
    --role helper=toy --model_args prompts=gone | --role helper=toy --max_calls_per_answer 1
"""
TRACED = (
    "--task t --sample 0 | --task u --sample 0 | --task t --sample 9 | --task t "
    "--sample 0 --repeat 1"
)
CASES = {
    **{f"agent {words}": Case(f"try agent {words}", LINES) for words in listed(DRIVEN)},
    **{words or "no role": Case(f"{AGENT} {words}") for words in listed(CAST)},
    "a kind whose tool is missing": Case(
        f"{AGENT} --role helper=toy",
        {**TINY, "t.yaml": f"{TINY['t.yaml']!s}output_modalities: [text, image]\n"},
    ),
    **{
        f"trace {words}": Case(
            f"trace runs/toy_agent/default {words}",
            before=(f"{AGENT} --role helper=toy",),
        )
        for words in listed(TRACED)
    },
    "trace of written tags": Case(
        "trace runs/toy_agent/default --task t --sample 0",
        {
            **TINY,
            "rows/test.jsonl": '{"id": "0", "input": "question <gen_img7>", '
            '"reference": "answer"}\n',
        },
        before=(f"{AGENT} --role helper=toy",),
    ),
    "trace of a trial that was not asked": Case(
        "trace runs/toy_agent/default --task t --sample 0",
        {**TINY, "t.yaml": f"{TINY['t.yaml']!s}output_modalities: [text, image]\n"},
        before=(f"{AGENT} --role helper=toy",),
    ),
    "trace of a sample that cannot be asked": Case(
        "trace runs/toy_agent/default --task t --sample 1",
        {
            **TINY,
            "rows/test.jsonl": '{"id": "0", "input": "question", "reference": '
            '"answer"}\n{"id": "1"}\n',
        },
        before=(f"{AGENT} --role helper=toy",),
    ),
    "trace of a run that was stopped": Case(
        "trace runs/toy_agent/default --task t --sample 2",
        before=(f"{AGENT} --role helper=toy --budget_calls 2 --max_connections 1",),
    ),
    "trace of no run": Case("trace runs --task t --sample 0"),
}


pytestmark = pytest.mark.usefixtures("toys")


@pytest.mark.parametrize("name", CASES)
def test_agents(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
