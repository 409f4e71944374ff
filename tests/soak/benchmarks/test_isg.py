"""ISG-Bench from end to end: on the bundled rows, and on whole samples with a judge
whose every word is known."""

import base64
import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mmeval.tasks.isg.subtasks import CATEGORIES
from tests.support.cli import ROOT, Ended, mmeval, results, run_folder
from tests.support.judges import OF_ISG, judge, judge_server
from tests.support.mock_openai_server import MockServer
from tests.support.tiny_media import picture

CALLS = 115
"""Those about the bundled rows: 63 pairs, 53 pictures and 21 answers, of which 22 are
equal to others."""
PLAIN = {words: json.dumps(said) for words, said in OF_ISG.items()}
"""Replies without prose around them, as the released script needs them."""
PARITY: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "tasks" / "isg" / "parity.json").read_text("utf-8")
)
REPLIES = json.loads(
    (
        Path(__file__).parents[2] / "metrics" / "judged" / "isg" / "parity.json"
    ).read_text("utf-8")
)
COLOURS = (
    "black",
    "blue",
    "cyan",
    "gold",
    "gray",
    "green",
    "navy",
    "pink",
    "red",
    "white",
)
LEVELS = ("structural", "block", "image", "holistic")
WRONG = json.dumps({f"isg_{level}": {"lost": "wrong"} for level in LEVELS[1:]})


class Left(NamedTuple):
    """What a command left behind."""

    done: Ended
    output: Path

    def values(self, task: str = "isg") -> dict[str, float | None]:
        rows = results(self.output)["mmeval"]["results"]
        return {
            row["metric"]: row["value"]
            for row in rows
            if (row["task"], row["slice"]) == (task, "")
        }


def run(output: Path, *words: str | Path, tasks: str = "isg") -> Left:
    data = () if "--data_dir" in words else ("--data", "bundled")
    return Left(
        mmeval(
            "--tasks",
            tasks,
            *data,
            "--output_path",
            output,
            "--report",
            "false",
            *words,
        ),
        output,
    )


def asked(server: MockServer) -> int:
    return int(server.stats()["requests"])


def levels(structural: float | None, *judged: float | None) -> dict[str, float | None]:
    return dict(
        zip((f"isg_{level}" for level in LEVELS), (structural, *judged), strict=True)
    )


def test_the_golden_answers_have_the_structure_and_an_empty_one_costs_no_call(
    tmp_path: Path,
) -> None:
    with judge_server(tmp_path) as server:
        best = run(tmp_path / "best", "--model", "reference", *judge(server))
        assert (best.done.code, asked(server)) == (0, CALLS)
        nothing = run(tmp_path / "nothing", "--model", "empty", *judge(server))
        assert (nothing.done.code, asked(server)) == (0, CALLS)
    assert (best.values(), nothing.values()) == (levels(1, 9, 1, 8), levels(0, 1, 0, 1))
    assert (
        best.values("isg_vqa")["isg_image"],
        nothing.values("isg_vqa")["isg_image"],
    ) == (None, None)


def test_the_structure_needs_no_judge(tmp_path: Path) -> None:
    left = run(tmp_path / "runs", "--model", "reference")
    assert (left.done.code, left.values()["isg_structural"]) == (0, 1)


def test_the_official_profile_asks_nothing_that_was_answered(tmp_path: Path) -> None:
    with judge_server(tmp_path, PLAIN) as server:
        run(tmp_path / "runs", "--model", "reference", *judge(server))
        folder, before = run_folder(tmp_path / "runs", "reference"), asked(server)
        again = mmeval("score", folder, "--profile", "official", *judge(server))
        assert (again.code, asked(server)) == (0, before)
    assert 0 < (Left(again, tmp_path / "runs").values()["isg_image"] or 0) < 1
    table = mmeval("report", folder, "--layout", "isg", "--format", "csv")
    assert "released,Image,reference,Style," in table.out


def test_an_export_read_back_has_the_same_scores_and_its_judge_file_gives_them_without_a_judge(
    tmp_path: Path,
) -> None:
    says = {"it describes this image": {"Judge": 4}, "Is there a lamp": {"Judge": "No"}}
    with judge_server(tmp_path, says) as server:
        first = run(tmp_path / "runs", "--model", "reference", *judge(server))
        folder, out = run_folder(first.output, "reference"), tmp_path / "out"
        exported = mmeval("export", folder, "--format", "isg", "--output_path", out)
        (place,) = out.iterdir()
        replay = ("--model", "replay", "--model_args", f"format=isg,path={place}")
        replayed = run(tmp_path / "replayed", *replay, *judge(server))
    assert (exported.code, replayed.values()) == (0, first.values())
    assert 1 < (first.values()["isg_block"] or 0) < 9
    data = tmp_path / "data"
    bundled = ROOT / "tasks" / "isg" / "bundled"
    (data / "images").mkdir(parents=True)
    for file in (
        bundled / "ISG-Bench.jsonl",
        *(bundled / "images").iterdir(),
        place / "outputs_0_21_judge.jsonl",
    ):
        (
            data / file.relative_to(bundled if bundled in file.parents else place)
        ).write_bytes(file.read_bytes())
    recorded = run(
        tmp_path / "recorded", *replay, "--data_dir", data, tasks="isg_recorded"
    )
    table = mmeval(
        "report",
        run_folder(tmp_path / "recorded", "replay"),
        "--layout",
        "isg",
        "--format",
        "csv",
    )
    judged = mmeval("report", folder, "--layout", "isg", "--format", "csv")
    assert (recorded.done.code, len(cells(judged.out))) == (0, 4 * 9)
    assert cells(table.out) == pytest.approx(cells(judged.out))


def cells(table: str, *names: str) -> dict[tuple[str, str], float | None]:
    """The values of tables 5 and 6, or of the named ones, by level and column."""
    found = {}
    for row in csv.DictReader(io.StringIO(table)):
        if row["table"] in (names or ("5", "6")) and row["column"] != "note":
            value = float(row["value"]) if row["value"] else None
            found[row["block"], row["column"]] = value
    return found


def test_the_bundled_judge_file_is_averaged_without_a_judge(tmp_path: Path) -> None:
    left = run(tmp_path / "runs", "--model", "reference", tasks="isg_recorded")
    values = [left.values("isg_recorded")[f"isg_recorded_{level}"] for level in LEVELS]
    assert (left.done.code, values) == (0, [1, 9, 1, 8])


def test_intervals_of_a_judge_file_lie_within_the_range_of_each_level(
    tmp_path: Path,
) -> None:
    left = run(tmp_path / "runs", "--model", "reference", tasks="isg_recorded")
    rows = [
        row for row in results(left.output)["mmeval"]["results"] if row["slice"] == ""
    ]
    for row, (lowest, highest) in zip(
        rows, [(0, 1), (1, 10), (0, 1), (1, 10)], strict=True
    ):
        low, high = row["ci95"]
        assert lowest <= low <= high <= highest, row["metric"]


def test_a_judge_file_without_its_pictures_is_averaged_too(tmp_path: Path) -> None:
    bundled = ROOT / "tasks" / "isg" / "bundled" / "golden_0_21_judge.jsonl"
    (tmp_path / "published.jsonl").write_bytes(bundled.read_bytes())
    replay = (
        "--model",
        "replay",
        "--model_args",
        f"format=isg,path={tmp_path / 'published.jsonl'}",
    )
    left = run(tmp_path / "runs", *replay, tasks="isg_recorded")
    rows = [
        row for row in results(left.output)["mmeval"]["results"] if row["slice"] == ""
    ]
    assert (left.done.code, [(row["value"], row["n"]) for row in rows]) == (
        0,
        [(1, 21), (9, 21), (1, 21), (8, 21)],
    )


@pytest.mark.parametrize(
    ("profile", "structural", "complementation"),
    [("standard", 1, 1), ("official", 21 / 22, 2 / 3)],
)
def test_each_line_of_an_id_that_stands_again_counts_in_the_official_profile(
    profile: str, structural: float, complementation: float, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    bundled = ROOT / "tasks" / "isg" / "bundled"
    shutil.copytree(bundled, data)
    judged = data / "golden_0_21_judge.jsonl"
    (howto,) = (
        row
        for row in map(json.loads, judged.read_text().splitlines())
        if row["Category"] == "HowTo"
    )
    wrong = {**howto, "output": [], "result": {**howto["result"], "structure": False}}
    judged.write_text(json.dumps(wrong) + "\n" + judged.read_text())
    replay = (
        "--model",
        "replay",
        "--model_args",
        f"format=isg,path={judged}",
        "--data_dir",
        data,
    )
    left = run(tmp_path / "runs", *replay, "--profile", profile, tasks="isg_recorded")
    assert left.done.code == 0
    assert left.values("isg_recorded")["isg_recorded_structural"] == pytest.approx(
        structural
    )
    # Without an answer the earlier line has 1 on the holistic level, the others have 8.
    assert left.values("isg_recorded")["isg_recorded_holistic"] == pytest.approx(
        8 if profile == "standard" else 169 / 22
    )
    table = mmeval(
        "report",
        run_folder(tmp_path / "runs", "replay"),
        "--layout",
        "isg",
        "--format",
        "csv",
    )
    found = cells(table.out)["Structural", "I-T C."]
    assert found == pytest.approx(complementation)


def test_a_picture_with_a_sound_head_and_broken_data_is_shown_and_unknown_where_the_judge_refuses_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "broken.png").write_bytes(picture(size=(64, 64))[:60])
    (tmp_path / "sound.png").write_bytes(picture())
    blocks = [
        ("image", "broken.png"),
        ("text", "Walls."),
        ("image", "sound.png"),
        ("text", "A roof."),
    ]
    output = [{"type": kind, "content": content} for kind, content in blocks]
    (tmp_path / "outputs.jsonl").write_text(
        json.dumps({"id": "0012", "output": output})
    )
    replay = (
        "--model",
        "replay",
        "--model_args",
        f"format=isg,path={tmp_path / 'outputs.jsonl'}",
    )
    once = (*replay, "--retry_on_error", "0")
    data = base64.b64encode((tmp_path / "broken.png").read_bytes()).decode()
    with judge_server(tmp_path / "judge") as server:
        taken = run(tmp_path / "taken", *once, *judge(server), tasks="isg_howto")
    assert (taken.done.code, taken.values("isg_howto")) == (0, levels(1, 9, 1, 8))
    with judge_server(tmp_path / "judge", poison=data) as server:
        refused = run(tmp_path / "refused", *once, *judge(server), tasks="isg_howto")
    assert (refused.done.code, refused.values("isg_howto")) == (
        3,
        levels(1, None, None, None),
    )
    rows = {
        row["metric"]: row
        for row in results(refused.output)["mmeval"]["results"]
        if row["slice"] == ""
    }
    assert all(rows[f"isg_{level}"]["bounds"] for level in LEVELS[1:])


def test_a_row_of_an_unknown_category_is_left_out_of_the_tables_with_a_note(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    bundled = ROOT / "tasks" / "isg" / "bundled"
    shutil.copytree(bundled, data)
    rows = [
        json.loads(line) for line in (data / "ISG-Bench.jsonl").read_text().splitlines()
    ]
    rows[0]["Category"] = "Gardening"
    (data / "ISG-Bench.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    run(
        tmp_path / "runs",
        "--model",
        "reference",
        "--data_dir",
        data,
        tasks="isg_recorded",
    )
    table = mmeval(
        "report", run_folder(tmp_path / "runs", "reference"), "--layout", "isg"
    )
    assert (table.code, "Gardening" in table.out) == (0, True)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """The samples of the specification as a data set, with the answers of a model."""
    data = tmp_path / "data"
    (data / "images").mkdir(parents=True)
    for colour in COLOURS:
        (data / "images" / f"{colour}.png").write_bytes(picture(colour=colour))
    for name, rows in (
        ("ISG-Bench", PARITY["data"]),
        ("outputs", PARITY["outputs"]),
        ("replies", REPLIES["replies"]),
    ):
        (data / f"{name}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows)
        )
    return data


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_whole_samples_have_their_averages_in_both_profiles(
    profile: str, whole: Path, tmp_path: Path
) -> None:
    with MockServer(replies=str(whole / "replies.jsonl")) as server:
        replay = (
            "--model",
            "replay",
            "--model_args",
            f"format=isg,path={whole / 'outputs.jsonl'}",
        )
        how = ("--data_dir", whole, "--profile", profile, "--metric_args", WRONG)
        left = run(tmp_path / "runs", *replay, *how, *judge(server))
    assert left.done.code == 0
    result = PARITY["averages"]["samples"][profile]["result"]
    for name, wanted in result["categories"].items():
        # no sample of it: no number here, and 0 in the released script's table
        if name != "decomposition":
            assert left.values(f"isg_{name}") == pytest.approx(
                {f"isg_{level}": wanted[level] for level in LEVELS}
            )
    if profile == "standard":
        assert left.values() == pytest.approx(
            {f"isg_{level}": result["average"][level] for level in LEVELS}
        )
    table = mmeval(
        "report",
        run_folder(tmp_path / "runs", "replay"),
        "--layout",
        "isg",
        "--format",
        "csv",
    )
    found = cells(table.out, "released")
    found.pop(("Image", "VQA"), None)
    named = {
        names.column: result["categories"].get(name, {})
        for name, names in CATEGORIES.items()
    }
    wanted = {
        (level.capitalize(), name): value
        for name, values in {**named, "Avg.": result["average"]}.items()
        for level, value in values.items()
        # the layout has a dash for it, since VQA has no questions about pictures
        if (level, name) != ("image", "VQA")
    }
    assert found == pytest.approx(wanted if profile == "official" else {})


def test_without_the_switch_a_lost_verdict_leaves_bounds(
    whole: Path, tmp_path: Path
) -> None:
    with MockServer(replies=str(whole / "replies.jsonl")) as server:
        replay = (
            "--model",
            "replay",
            "--model_args",
            f"format=isg,path={whole / 'outputs.jsonl'}",
        )
        left = run(
            tmp_path / "runs",
            *replay,
            "--data_dir",
            whole,
            "--max_unscored",
            "9",
            *judge(server),
        )
    rows = {
        row["metric"]: row
        for row in results(left.output)["mmeval"]["results"]
        if row["task"] == "isg_temporal"
    }
    assert (rows["isg_block"]["value"], rows["isg_block"]["bounds"]) == (
        None,
        [4.875, 7.125],
    )
