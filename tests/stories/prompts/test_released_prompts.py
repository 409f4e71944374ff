"""A run in the authors' words: what the judge is asked, and what is written about it."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.able_server import Abilities, AbleServer
from tests.support.cli import QUIET, Ended, mmeval, results

SENTINEL = "a sentinel of the released words"
SCRIPT = f'JUDGE = "Given {{tree}}, is it {SENTINEL}? {{{{yes}}}} or no.\\n"\n'
TEXT = f"Given {{tree}}, is it {SENTINEL}? {{{{yes}}}} or no.\n"
SENT = f"Given answer 0, is it {SENTINEL}? {{yes}} or no.\n"
RELEASED = f"""\
sources: {{trees: {{repository: me/trees, commit: {"c" * 40}, license: none}}}}
files:
  - source: trees
    path: judge.py
    prompts:
      - id: trees.judge
        recipe: 'name :JUDGE'
        sha256: {hashlib.sha256(TEXT.encode()).hexdigest()}
templates:
  - prompt: judge_yes_no
    ids: [trees.judge]
    fields: {{'{{tree}}': [answer]}}
    doubled_braces: true
"""
TASK_TEMPLATE = """\
  - prompt: t
    frame: [{system: [trees.judge]}, {user: [input]}]
    assembled: mmeval
"""
TASK = """\
task: t
dataset_path: rows
metadata: {version: 1}
metric_list:
  - {metric: judge_yes_no, question: Is it a tree?}
"""
ROW = {"id": "0", "input": "question", "reference": "answer 0"}


@pytest.fixture
def server() -> Iterator[AbleServer]:
    with AbleServer(
        Abilities(json_mode=False, prose='{"reason": "so", "verdict": "yes"}')
    ) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "test.jsonl").write_text(json.dumps(ROW))
    (tmp_path / "t.yaml").write_text(TASK)
    (tmp_path / "released.yaml").write_text(RELEASED)
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "judge.py").write_text(SCRIPT)
    return tmp_path


def prepared(folder: Path) -> None:
    words = ("--prompts", "--prompts_from", folder / "clone")
    assert mmeval("prepare", folder / "t.yaml", *words).code == 0


def run(
    folder: Path,
    server: AbleServer,
    words: str | Path,
    name: str = "runs",
    *flags: str,
) -> Ended:
    return mmeval(
        "run",
        *("--tasks", folder / "t.yaml", "--model", "reference"),
        *("--judge", f"openai,model=j,base_url={server.url}"),
        *("--prompts", words, "--output_path", folder / name, *QUIET),
        *flags,
    )


def sent(server: AbleServer) -> list[Any]:
    """The messages of each call."""
    return [question["messages"] for question in server.questions]


def written(folder: Path) -> str:
    """Everything that is written below a folder, as text."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return "\n".join(file.read_bytes().decode(errors="replace") for file in files)


def test_a_judge_is_asked_in_the_released_words(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    run(folder, server, "released")
    assert sent(server) == [[{"role": "user", "content": SENT}]]


def test_the_results_name_the_released_prompt_without_its_text(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    done = run(folder, server, "released")
    config = results(folder / "runs")["configs"]["t"]
    prompt = config["judge_prompts"]["judge_yes_no"]["judge_yes_no"]
    assert "text" not in prompt
    assert prompt["released"] == "trees.judge"
    assert SENTINEL not in done.out + done.err


def test_a_finding_states_how_many_prompts_are_in_released_words(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    done = run(folder, server, "released")
    assert "1 of 1  prompts in the authors' words: judge_yes_no" in done.out
    findings = results(folder / "runs")["mmeval"]["findings"]
    (finding,) = [row for row in findings if row["kind"] == "other_definition"]
    assert (finding["count"], finding["of"]) == (1, 1)
    assert "judge_yes_no" in finding["cause"]


def test_the_results_name_the_place_of_each_released_text(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    run(folder, server, "released")
    (row,) = results(folder / "runs")["mmeval"]["prompts"].values()
    assert (row["words"], row["assembled"]) == ("released", "authors")
    (text,) = row["texts"]
    assert text == {
        "id": "trees.judge",
        "sha256": hashlib.sha256(TEXT.encode()).hexdigest(),
        "source": "me/trees",
        "commit": "c" * 40,
        "path": "judge.py",
    }


def test_the_results_tell_the_users_words_from_our_own(
    folder: Path, server: AbleServer
) -> None:
    prompts = folder / "prompts"
    prompts.mkdir()
    (prompts / "judge_yes_no.jinja").write_text("Is {{ answer }} a tree? {{ form }}")
    run(folder, server, prompts, "users")
    run(folder, server, "own", "own")
    words = []
    for name in ("users", "own"):
        (row,) = results(folder / name)["mmeval"]["prompts"].values()
        words.append(row["words"])
    assert words == ["user", "own"]


def test_a_report_and_a_comparison_contain_no_released_text(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    run(folder, server, "released")
    run(folder, server, "own", "own")
    of_run = folder / "runs" / "reference" / "default"
    of_own = folder / "own" / "reference" / "default"
    shown = mmeval("report", of_run, "--format", "markdown").out
    pair = ("compare", of_own, of_run)
    shown += mmeval(*pair, "--output_path", folder / "out" / "pair").out
    mmeval("report", of_run, "--output_path", folder / "out" / "page")
    names = {file.name for file in (folder / "out").iterdir()}
    assert names == {"page", "pair"}
    assert SENTINEL not in shown + written(folder / "out")


def test_the_page_names_a_released_prompt_by_its_id_and_digest(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    run(folder, server, "released", "runs", "--report", "true")
    page = folder / "runs" / "reference" / "default" / "report" / "index.html"
    words = page.read_text().replace("<wbr>", "")
    digest = hashlib.sha256(TEXT.encode()).hexdigest()[:12]
    place = f"trees.judge: me/trees@cccccccccccc, judge.py, SHA-256 {digest}"
    assert place in words


def test_the_page_shows_the_released_words_on_request(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    run(folder, server, "released")
    of_run = folder / "runs" / "reference" / "default"
    mmeval("report", of_run, "--with_prompts")
    assert SENTINEL in (of_run / "report" / "index.html").read_text()


def test_a_hostile_prompt_is_text_on_the_page(folder: Path, server: AbleServer) -> None:
    prompts = folder / "prompts"
    prompts.mkdir()
    hostile = "<script>alert(1)</script> {{ answer }} {{ form }}"
    (prompts / "judge_yes_no.jinja").write_text(hostile)
    run(folder, server, prompts, "runs", "--report", "true")
    page = folder / "runs" / "reference" / "default" / "report" / "index.html"
    words = page.read_text()
    assert "&lt;script&gt;alert(1)" in words
    assert "<script>alert(1)" not in words


def test_tables_contain_no_released_text(folder: Path, server: AbleServer) -> None:
    prepared(folder)
    run(folder, server, "released")
    of_run = folder / "runs" / "reference" / "default"
    out = folder / "out"
    formats = "markdown,latex,csv"
    done = mmeval("report", of_run, "--format", formats, "--output_path", out)
    assert done.code == 0, done.err
    assert len(list((out / "tables").iterdir())) > 1
    assert SENTINEL not in done.out + written(out)


def test_a_samples_file_contains_no_released_text(
    folder: Path, server: AbleServer
) -> None:
    (folder / "released.yaml").write_text(RELEASED + TASK_TEMPLATE)
    prepared(folder)
    run(folder, server, "released", "runs", "--log_samples", "true")
    (samples,) = (folder / "runs").rglob("samples_*.jsonl")
    row = json.loads(samples.read_text())
    assert row["arguments"]["gen_args_0"]["arg_0"] == "released prompt: trees.judge"
    assert SENTINEL not in samples.read_text()


def test_a_trace_contains_no_released_text(folder: Path, server: AbleServer) -> None:
    prepared(folder)
    run(folder, server, "released")
    done = mmeval("trace", folder / "runs" / "reference" / "default")
    assert done.code == 0, done.err
    assert SENTINEL not in done.out + done.err


def test_a_comparison_names_the_difference_in_words(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    run(folder, server, "released")
    run(folder, server, "own", "own")
    runs = [folder / name / "reference" / "default" for name in ("own", "runs")]
    done = mmeval("compare", *runs, "--report", "false")
    words = " ".join(done.out.split())
    assert "not comparable" in words
    assert "trees.judge" in words
    assert "judge_yes_no is own in one run, released in the other" in words
    changed = "prompts judge_yes_no in own words -> judge_yes_no in released words"
    assert changed in words


def test_a_run_is_scored_again_in_its_own_words(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    run(folder, server, "released")
    (folder / "released.yaml").unlink()
    of_run = folder / "runs" / "reference" / "default"
    judge = f"openai,model=other,base_url={server.url}"
    mmeval("score", of_run, "--judge", judge, *QUIET)
    assert sent(server)[1:] == [[{"role": "user", "content": SENT}]]
    document = results(folder / "runs")
    assert SENTINEL not in json.dumps(document)
    (row,) = document["mmeval"]["prompts"].values()
    assert row["texts"][0]["source"] == "me/trees"


def test_scores_of_released_and_other_words_are_apart(
    folder: Path, server: AbleServer
) -> None:
    prepared(folder)
    run(folder, server, "released")
    of_run = folder / "runs" / "reference" / "default"
    first = results(folder / "runs")["mmeval"]["score_sets"]["t"]
    prompts = folder / "prompts"
    prompts.mkdir()
    (prompts / "judge_yes_no.jinja").write_text("Is {{ answer }} a tree? {{ form }}")
    judge = f"openai,model=j,base_url={server.url}"
    mmeval("score", of_run, "--judge", judge, "--judge_prompts", prompts, *QUIET)
    document = results(folder / "runs")["mmeval"]
    assert document["score_sets"]["t"] != first
    assert (of_run / "scores" / "t" / first).is_dir()
    assert document["prompts"]["judge_yes_no"]["words"] == "user"


def test_a_released_prompt_that_is_not_here_is_asked_for(
    folder: Path, server: AbleServer
) -> None:
    done = run(folder, server, "released")
    assert done.code == 4
    assert "mmeval prepare" in done.err
    assert sent(server) == []


def test_a_task_without_released_prompts_is_refused(
    folder: Path, server: AbleServer
) -> None:
    (folder / "released.yaml").unlink()
    done = run(folder, server, "released")
    assert done.code == 2
    assert "judge_yes_no" in done.err


def test_a_folder_may_have_prompts_of_other_tasks(
    folder: Path, server: AbleServer
) -> None:
    prompts = folder / "prompts"
    prompts.mkdir()
    (prompts / "judge_yes_no.jinja").write_text("Is {{ answer }} a tree? {{ form }}")
    (prompts / "another.jinja").write_text("Of another task. {{ form }}")
    done = run(folder, server, prompts)
    ((message,),) = sent(server)
    assert message["content"].startswith("Is answer 0 a tree?")
    assert "another" in done.err
