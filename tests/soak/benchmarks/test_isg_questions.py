"""ISG-Bench's question generation from end to end: a model behind a server writes the
questions of the bundled rows."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mmeval.media.parts import Interleaved
from mmeval.program.calls import MODEL, Program, Role
from mmeval.program.protocols import Ask
from mmeval.records.request import GenerationParams
from mmeval.records.sample import Sample
from mmeval.task.build import build
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from tests.support.cli import Ended, mmeval, results, run_folder
from tests.support.mock_openai_server import MockServer
from tests.support.shipped_tasks import (
    CAPTION,
    asked_about,
    bundled_samples,
    mark_of,
    prompt_of,
    stage_of,
    written,
)

BUNDLED = Path(__file__).parents[3] / "tasks" / "isg" / "bundled"
TASK = build(choose(["isg_graph"], TaskIndex()).tasks["isg_graph"])
CALLS = 103
"""One less than a dry run counts: of one row nothing is said about its pictures."""


@contextmanager
def writer(folder: Path) -> Iterator[MockServer]:
    """A model that writes what the bundled rows have: each prompt is known by its
    mark."""
    rows = [{"contains": "Describe this picture", "reply": CAPTION}]
    for sample in bundled_samples():
        _, waves = asked_about(_program(sample), sample)
        prompts = [prompt_of(call) for wave in waves for call in wave]
        asked = (prompt for prompt in prompts if stage_of(prompt) != "caption")
        rows += [
            {"contains": f"{mark_of(prompt)} ", "reply": written(prompt, sample)}
            for prompt in asked
        ]
    (folder / "replies.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in rows)
    )
    with MockServer(replies=str(folder / "replies.jsonl")) as server:
        yield server


def _program(sample: Sample) -> Program[Interleaved]:
    return TASK.protocol(
        Ask(sample, sample.input, ("text",), GenerationParams(), Role(MODEL))
    )


def run(server: MockServer, output: Path, *words: str | Path) -> Ended:
    model = ("--model", "openai", "--model_args", f"base_url={server.url},model=m")
    return mmeval(
        "--tasks",
        "isg_graph",
        "--data",
        "bundled",
        *model,
        "--output_path",
        output,
        "--report",
        "false",
        *words,
    )


def numbers(output: Path) -> dict[str, float | None]:
    rows = results(output)["mmeval"]["results"]
    return {row["metric"]: row["value"] for row in rows if row["slice"] == ""}


def asked(server: MockServer) -> int:
    return int(server.stats()["requests"])


def test_what_a_model_writes_is_scored_and_exported_as_data(tmp_path: Path) -> None:
    with writer(tmp_path) as server:
        assert run(server, tmp_path / "runs").code == 0
        assert asked(server) == CALLS
        assert run(server, tmp_path / "runs").code == 0
        assert asked(server) == CALLS
    assert numbers(tmp_path / "runs") == {
        "isg_graph_structure": 1,
        "isg_graph_block": 1,
        "isg_graph_image": 1,
    }
    folder = run_folder(tmp_path / "runs")
    assert (
        mmeval("score", folder, "--metric_args", '{"isg_graph": {"alike": 1}}').code
        == 0
    )
    assert (
        mmeval(
            "export", folder, "--format", "isg_graph", "-o", tmp_path / "export"
        ).code
        == 0
    )
    (file,) = (tmp_path / "export").rglob("ISG-Bench.jsonl")
    data = tmp_path / "data"
    shutil.copytree(BUNDLED / "images", data / "images")
    shutil.copy(file, data)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [sorted(row) for row in rows] == [
        ["Category", "Golden", "Query", "id", "predict"]
    ] * 21
    again = mmeval(
        "--tasks",
        "isg",
        "--data_dir",
        data,
        "--model",
        "reference",
        "--output_path",
        tmp_path / "again",
    )
    assert (again.code, numbers(tmp_path / "again")["isg_structural"]) == (0, 1)


def test_a_reply_with_a_fault_is_asked_for_three_times_and_then_the_row_has_failed(
    tmp_path: Path,
) -> None:
    with MockServer(reply='{{"Query": [], "Answer": []}}') as server:
        done = run(server, tmp_path / "runs", "--limit", "1")
        # a caption, and the first stage
        assert (done.code, asked(server)) == (3, 1 + 3)
    assert "bad_reply" in done.err


def test_the_words_of_a_stage_are_replaced_as_those_of_a_judge(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    own = tmp_path / "mine" / "isg_graph_structure.md"
    own.write_text("Mine. {{ form }} {{ query }}")
    with MockServer(reply="no") as server:
        replaced = ("--limit", "1", "--judge_prompts", tmp_path / "mine")
        assert run(server, tmp_path / "runs", *replaced).code == 3
        protocol = results(tmp_path / "runs")["configs"]["isg_graph"]["protocol"]
        assert (protocol["name"], protocol["structure_prompt"]["text"]) == (
            "isg_graph",
            own.read_text(),
        )
        own.write_text("Mine. {{ form }} {{ qery }}")
        assert run(server, tmp_path / "other", *replaced).code == 2
        own.rename(own.with_stem("isg_graph_structur"))
        assert run(server, tmp_path / "other", *replaced).code == 2
