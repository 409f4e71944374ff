"""A run in shards: what several machines ask, merged, has the results of the run on one
of them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mmeval.system.json_lines import read_rows, sealed, to_line
from tests.support.cli import (
    QUIET,
    Ended,
    environment,
    mmeval,
    openai,
    results,
    run_folder,
    score_files,
    started,
    wait_for,
)
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer
from tests.support.questions import where, write_questions
from tests.support.readers import latest, read_samples
from tests.support.task_folder import write_rows

OF_TIME_AND_PLACE = (
    "date",
    "start_time",
    "total_evaluation_time_seconds",
    "git_hash",
    "crc",
    "counts",
    "output_path",
    "model_args",
)


class Shards:
    """One command as a whole and in shards, each against a server of its own: eight
    questions, two answers each."""

    def __init__(self, folder: Path, server: MockServer) -> None:
        self.folder, self.server = folder, server
        self.run = run_folder(folder / "runs")
        write_questions(folder / "tasks", "ask", range(8))

    def command(self, *more: str, output: str = "runs") -> list[str]:
        flags = [
            "--repeats",
            "2",
            "--gen_kwargs",
            "temperature=1",
            "--log_samples",
            "--system_instruction",
            "Be brief",
        ]
        return [
            *where(self.folder),
            *openai(self.server),
            *flags,
            "--output_path",
            str(self.folder / output),
            *more,
        ]

    def whole(self, *more: str) -> Path:
        """The folder of the runs of the command without shards, which another server
        has answered."""
        with MockServer() as other:
            server, self.server = self.server, other
            done = mmeval(*self.command(*more, output="whole"))
            self.server = server
        assert done.code in (0, 3), done.err
        return self.folder / "whole"

    def ask(self, *shards: str, more: tuple[str, ...] = ()) -> list[int]:
        """The exit codes of shards, one after the other."""
        return [mmeval(*self.command("--shard", shard, *more)).code for shard in shards]

    def drawing(self) -> tuple[str, ...]:
        """Let the task ask for pictures. Gives the flags of a model that draws them."""
        file = self.folder / "tasks" / "ask.yaml"
        file.write_text(file.read_text().replace("[text]", "[text, image]"))
        model = ("--model_args", "outputs=text+image")
        return (*model, "--gen_kwargs", "image.size=64x64")

    def merge(self, *more: str) -> Ended:
        return mmeval("merge", self.run, *more)

    def path(self, shard: str) -> Path:
        return self.run / "shards" / shard.replace("/", "-of-")

    def scores(self) -> dict[str, bytes]:
        """The score rows of the run itself."""
        return score_files(self.run / "scores")

    def repeated(self) -> int:
        repeated: int = self.server.stats()["repeated"]
        return repeated


@pytest.fixture
def shards(tmp_path: Path, server: MockServer) -> Shards:
    return Shards(tmp_path, server)


def document(folder: Path) -> Any:
    """The newest results file without what no two runs have in common: times, places,
    and what was kept."""
    return _without(results(folder))


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without(item)
            for name, item in value.items()
            if name not in OF_TIME_AND_PLACE
        }
    return [_without(item) for item in value] if isinstance(value, list) else value


def test_merged_shards_have_the_results_scores_and_samples_of_the_whole_run(
    shards: Shards,
) -> None:
    whole = shards.whole()
    codes = shards.ask("1/3", "2/3", "3/3")
    merged = shards.merge()
    assert (codes, merged.code, shards.repeated()) == ([0, 0, 0], 0, 0), merged.err
    assert shards.scores() == score_files(whole)
    assert document(shards.folder / "runs") == document(whole)
    assert read_samples(latest(shards.folder / "runs")[1]["ask"]) == read_samples(
        latest(whole)[1]["ask"]
    )


def test_a_missing_shard_is_named_and_partial_results_say_so_until_it_is_merged_too(
    shards: Shards,
) -> None:
    whole = shards.whole()
    shards.ask("1/3", "2/3")
    refused, partial = shards.merge(), shards.merge("--partial")
    unfinished = results(shards.run)["mmeval"]["unfinished"]
    again = shards.merge("--partial")
    assert (refused.code, "missing: shard 3/3" in refused.error) == (2, True)
    assert (partial.code, unfinished, again.code) == (
        3,
        {"ask": {"made": 12, "of": 16}},
        3,
    ), partial.err
    shards.ask("3/3")
    assert (shards.merge().code, shards.repeated()) == (0, 0)
    assert document(shards.run)["results"] == document(whole)["results"]
    assert results(shards.run)["mmeval"]["unfinished"] == {}


@pytest.mark.parametrize(
    ("of_shards", "of_merge", "has_page"),
    [("true", "false", False), ("false", "true", True)],
)
def test_a_merge_writes_the_page_as_its_own_flag_says(
    shards: Shards, of_shards: str, of_merge: str, has_page: bool
) -> None:
    shards.ask("1/2", "2/2", more=("--report", of_shards))
    merged = shards.merge("--report", of_merge)
    assert merged.code == 0, merged.err
    assert (shards.run / "report" / "index.html").exists() == has_page


def test_a_page_that_a_merge_left_out_is_written_on_request(shards: Shards) -> None:
    shards.ask("1/2", "2/2")
    shards.merge("--report", "false")
    page = shards.run / "report" / "index.html"
    shards.merge("--report", "false")
    assert not page.exists()
    again = shards.merge("--report")
    assert (again.code, page.is_file()) == (0, True), again.err


def test_merging_notes_the_warnings_of_the_answers(shards: Shards) -> None:
    assert shards.ask("1/2", "2/2", more=shards.drawing()) == [0, 0]
    merged = shards.merge()
    assert "plugin  model  16 of 16  a warning" in merged.err


def test_shards_of_another_number_ask_what_is_left(shards: Shards) -> None:
    whole = shards.whole()
    shards.ask("1/3", "2/3")
    asked = shards.server.stats()["requests"]
    codes = shards.ask("1/2", "2/2")
    merged = shards.merge()
    assert (asked, shards.server.stats()["requests"], shards.repeated()) == (12, 16, 0)
    assert (codes, merged.code) == ([0, 0], 0), merged.err
    assert document(shards.run)["results"] == document(whole)["results"]
    assert shards.scores() == score_files(whole)


def test_a_shard_keeps_what_its_run_has_and_the_run_goes_on_after_the_merge(
    shards: Shards,
) -> None:
    shards.whole()
    first = mmeval(*shards.command("--limit", "3"))
    codes = shards.ask("1/2", "2/2")
    early = mmeval(*shards.command())
    merged = shards.merge()
    last = mmeval(*shards.command())
    assert first.code == 0, early.err + merged.err
    assert codes == [0, 0]
    assert early.code == 2
    assert merged.code == 0
    assert last.code == 0
    assert "merge --partial" in early.error
    assert (shards.server.stats()["requests"], shards.repeated()) == (16, 0)
    assert (
        document(shards.run)["results"] == document(shards.folder / "whole")["results"]
    )


def test_a_shard_without_a_sample_has_nothing_to_ask(shards: Shards) -> None:
    codes = [*shards.ask("3/3", more=("--limit", "2"))]
    dry = mmeval(*shards.command("--shard", "1/3", "--limit", "5", "--dry_run"))
    assert codes == [0], dry.err
    assert dry.code == 0
    assert "2 of 8" in dry.out
    assert shards.server.stats()["requests"] == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            (
                "--model_args",
                "base_url=URL,model=m,outputs=text+image",
                "--model_tag",
                "m",
            ),
            "model.",
        ),
        (("--limit", "5"), "settings.limit none -> 5"),
        (
            ("--metric_args", '{"exact_match": {"ignore_case": false}}'),
            "metric_list[0].ignore_case none -> false",
        ),
    ],
    ids=["model", "limit", "metric"],
)
def test_shards_that_differ_are_refused_by_their_field(
    shards: Shards, more: tuple[str, ...], words: str
) -> None:
    shards.ask("1/2")
    # Another machine has asked the other one, of which the run's folder knew nothing.
    given = (word.replace("URL", shards.server.url) for word in more)
    assert (
        mmeval(*shards.command("--shard", "2/2", *given, output="elsewhere")).code == 0
    )
    made = run_folder(shards.folder / "elsewhere") / "shards"
    shutil.copytree(made, shards.run / "shards", dirs_exist_ok=True)
    refused = shards.merge()
    assert (refused.code, words in refused.error) == (2, True), refused.err


def test_shards_of_other_data_are_refused_with_both_fingerprints(
    shards: Shards,
) -> None:
    shards.ask("1/2")
    write_questions(shards.folder / "tasks", "ask", range(9))
    shards.ask("2/2")
    refused = shards.merge()
    assert (refused.code, "data.ask.fingerprint" in refused.error) == (2, True), (
        refused.err
    )


def test_a_shard_of_another_seed_than_its_run_asks_nothing(shards: Shards) -> None:
    shards.ask("1/2")
    refused = mmeval(*shards.command("--shard", "2/2", "--seed", "7"))
    assert (
        refused.code,
        "seed 0 -> 7" in refused.error,
        shards.server.stats()["requests"],
    ) == (2, True, 8)
    assert not shards.path("2/2").exists()


def test_a_shard_without_an_answer_takes_another_seed_whatever_others_have_answered(
    shards: Shards,
) -> None:
    shards.ask("2/2", more=("--seed", "7"))
    for folder in ("journal", "trials", "scores"):
        shutil.rmtree(shards.path("2/2") / folder)
    assert shards.ask("1/2", "2/2") == [0, 0]


def test_a_torn_line_is_no_answer_and_its_shard_is_run_again(shards: Shards) -> None:
    shards.ask("1/2", "2/2")
    (segment,) = shards.path("2/2").glob("journal/*.jsonl")
    record = json.loads((shards.path("2/2") / "run.json").read_text())
    with segment.open("r+b") as file:
        lines = file.read().splitlines(keepends=True)
        file.truncate(sum(map(len, lines[:-1])) + len(lines[-1]) // 2)
    assert record["finished"]
    assert shards.ask("2/2") == [0]
    assert (shards.merge().code, shards.server.stats()["requests"]) == (0, 17)
    assert mmeval(*shards.command()).code == 0
    assert shards.server.stats()["requests"] == 17


def test_a_damaged_definition_of_scores_is_named_and_its_shard_is_scored_again(
    shards: Shards,
) -> None:
    shards.ask("1/2", "2/2")
    (plan,) = shards.path("2/2").glob("scores/*/*/plan.json")
    plan.write_bytes(plan.read_bytes()[:40])
    refused = shards.merge()
    shutil.rmtree(plan.parent)
    again, merged = shards.ask("2/2"), shards.merge()
    assert refused.code == 2, refused.err
    assert str(plan) in refused.error
    assert again == [0]
    assert merged.code == 0
    assert (plan.exists(), shards.server.stats()["requests"]) == (True, 16)


def test_a_shard_that_is_given_twice_or_merged_at_work_is_refused_by_its_lock(
    shards: Shards,
) -> None:
    shards.server.state.settings.hold_after = 3
    with started(*shards.command("--shard", "1/2")) as first:
        wait_for(lambda: len(shards.server.state.held) > 0, "a shard at work")
        second, *merged = (
            mmeval(*shards.command("--shard", "1/2")),
            shards.merge(),
            shards.merge("--partial"),
        )
        shards.server.let_go()
        ended = first.ended()
    assert ended.code == 0, ended.err
    for refused in (second, *merged):
        assert (refused.code, "another process is using this run" in refused.error) == (
            2,
            True,
        ), refused.err


def test_an_answer_whose_row_of_scores_was_lost_is_reported(shards: Shards) -> None:
    assert shards.ask("1/2", "2/2") == [0, 0]
    rows = next((shards.run / "shards" / "2-of-2").glob("scores/*/*/scores.jsonl"))
    rows.write_bytes(b"".join(rows.read_bytes().splitlines(keepends=True)[:-1]))
    merged = shards.merge()
    assert (
        merged.code,
        "subset  ask  1  some answers of the shards have no score row" in merged.err,
    ) == (3, True), merged.err


def cut(file: Path, lines: int = 2) -> None:
    """Keep the first lines of a file, as a copy that was interrupted does."""
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:lines]))


def test_trials_that_a_shard_has_lost_are_made_again_of_its_journal(
    shards: Shards,
) -> None:
    whole = shards.whole()
    shards.ask("1/2", "2/2")
    cut(shards.path("1/2") / "trials" / "ask.jsonl")
    (shards.path("2/2") / "trials" / "ask.jsonl").unlink()
    merged = shards.merge()
    assert merged.code == 0, merged.err
    assert document(shards.run)["results"] == document(whole)["results"]
    assert shards.scores() == score_files(whole)


def test_answers_after_a_failure_that_a_shard_has_lost_are_made_again(
    shards: Shards,
) -> None:
    shards.server.state.settings.poison = "question 7"
    shards.ask("1/2", "2/2", more=("--retry_on_error", "0"))
    shards.server.state.settings.poison = ""
    shards.ask("2/2")
    cut(shards.path("2/2") / "trials" / "ask.jsonl", lines=8)
    merged = shards.merge()
    assert merged.code == 0, merged.err
    assert results(shards.run)["mmeval"]["results"][0]["n"] == 16


def test_a_shard_that_holds_other_trials_than_it_recorded_is_refused(
    shards: Shards,
) -> None:
    shards.ask("1/2", "2/2")
    trials = shards.path("1/2") / "trials" / "ask.jsonl"
    rows = [row for _, row in read_rows(trials)]
    rows[0]["d"] = "of another run"
    trials.write_bytes(b"".join(sealed(to_line(row)) for row in rows))
    refused = shards.merge()
    assert refused.code == 2
    assert (
        "the trials of ask in shard 1/2 differ from those that it recorded"
        in refused.error
    )


def test_a_merge_of_a_shard_without_its_answers_is_refused_with_its_numbers(
    shards: Shards,
) -> None:
    shards.ask("1/2", "2/2")
    (file,) = shards.path("1/2").glob("journal/*.jsonl")
    cut(file, lines=0)
    refused = shards.merge()
    assert refused.code == 2
    assert "shard 1/2 lacks trials of ask: 8 of 8" in refused.error


def test_lost_trials_are_there_again_after_their_shard_was_run_again(
    shards: Shards,
) -> None:
    shards.ask("1/2", "2/2")
    cut(shards.path("1/2") / "samples" / "ask.jsonl")
    assert shards.merge().code == 2
    assert (shards.ask("1/2"), shards.merge().code) == ([0], 0)
    assert shards.server.stats()["requests"] == 16


def test_media_of_answers_that_were_not_copied_are_lost_trials(shards: Shards) -> None:
    # a call that failed has no media to lose
    assert shards.ask("1/2", "2/2", more=shards.drawing()) == [0, 0]
    shutil.rmtree(shards.path("1/2") / "media")
    refused = shards.merge()
    assert refused.code == 2
    assert "shard 1/2 lacks trials of ask: 8 of 8" in refused.error


def test_media_lost_in_partial_results_are_merged_once_they_are_copied_again(
    shards: Shards,
) -> None:
    shards.ask("1/2", "2/2", more=shards.drawing())
    lost = shards.path("1/2") / "media"
    kept = shards.folder / "kept"
    shutil.copytree(lost, kept)
    for copied in lost.rglob("*.*"):
        cut(copied)
    partial = shards.merge("--partial")
    shutil.rmtree(lost)
    shutil.copytree(kept, lost)
    merged = shards.merge()
    assert (partial.code, merged.code) == (3, 0), merged.err
    assert results(shards.run)["mmeval"]["results"][0]["n"] == 16


def test_partial_results_refuse_a_folder_that_holds_another_shard(
    shards: Shards,
) -> None:
    shards.ask("1/2")
    name = "1-of-99999999"
    shutil.copytree(shards.path("1/2"), shards.run / "shards" / name)
    refused = shards.merge("--partial")
    assert refused.code == 2
    assert f"{name} contains the trials of shard 1/2" in refused.error


def test_a_shard_that_is_run_in_a_copy_of_another_is_merged(shards: Shards) -> None:
    whole = shards.whole()
    shards.ask("1/2")
    shutil.copytree(shards.path("1/2"), shards.path("2/2"))
    codes, merged = shards.ask("2/2"), shards.merge()
    assert (codes, merged.code) == ([0], 0), merged.err
    assert document(shards.run)["results"] == document(whole)["results"]


def test_judged_shards_are_merged_without_a_key_and_with_the_whole_judgement(
    shards: Shards, tmp_path: Path
) -> None:
    rubric = {"rubric": ["It greets.", "It is short."]}
    write_rows(
        tmp_path / "greet_data",
        *({"id": f"{i}", "input": f"Greet guest {i}.", **rubric} for i in range(6)),
    )
    (tmp_path / "tasks" / "ask.yaml").write_text(
        f"task: ask\ndataset_path: {tmp_path / 'greet_data'}\nmetric_list:\n"
        "  - metric: rubric_judge\nmetadata: {version: 1}\n"
    )
    with judge_server(tmp_path / "kind", {"guest 3": {"met": "no"}}) as kind:
        whole = shards.whole(*judge(kind))
        asked = kind.stats()["requests"]
        codes = shards.ask("1/2", "2/2", more=judge(kind))
    without_key = {
        name: value for name, value in environment().items() if name != "OPENAI_API_KEY"
    }
    merged = mmeval("merge", shards.run, env=without_key)
    assert (codes, merged.code, kind.stats()["requests"]) == ([0, 0], 0, 2 * asked), (
        merged.err
    )
    ours, theirs = document(shards.folder / "runs"), document(whole)
    assert shards.scores() == score_files(whole)
    assert (ours["mmeval"], ours["results"]) == (theirs["mmeval"], theirs["results"])


def test_shards_that_only_ask_are_scored_after_the_merge(shards: Shards) -> None:
    whole = shards.whole()
    codes = shards.ask("1/2", "2/2", more=("--predict_only",))
    merged, scored = shards.merge(), mmeval("score", shards.run, *QUIET)
    assert codes == [0, 0], merged.err + scored.err
    assert merged.code == 0
    assert scored.code == 0
    assert shards.repeated() == 0
    assert (document(shards.run)["results"], shards.scores()) == (
        document(whole)["results"],
        score_files(whole),
    )


def test_failed_trials_of_shards_count_as_in_the_whole_run(shards: Shards) -> None:
    shards.server.state.settings.poison = "question 7"
    fails = ("--retry_on_error", "0")
    codes = shards.ask("1/2", "2/2", more=fails)
    merged = shards.merge()
    row = results(shards.run)["mmeval"]["results"][0]
    assert codes == [0, 3], merged.err
    assert merged.code == 3
    assert row["failed"] == 2
    assert row["n"] == 16
    shards.server.state.settings.poison = ""
    assert (shards.ask("2/2"), shards.merge().code) == ([0], 0)
    assert results(shards.run)["mmeval"]["results"][0]["failed"] == 0
