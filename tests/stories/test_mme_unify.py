"""MME-Unify from end to end: on the bundled rows, with networks of random weights, and
on mazes played turn by turn."""

import base64
import json
import shutil
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mmeval.tasks import mme_unify
from tests.support.cli import QUIET, Ended, environment, mmeval, results, run_folder
from tests.support.metric_models import weights_folder
from tests.support.mock_openai_server import MockServer

BUNDLED = Path(mme_unify.__file__).parent / "bundled"
URL = (
    "data:image/png;base64,"
    f"{base64.b64encode((BUNDLED / 'media' / 'chart.png').read_bytes()).decode()}"
)
REPLY: dict[str, Any] = {
    "content": "Answer: A\nAction: Right\nLocation: [1, 0]\nImage:",
    "images": [{"type": "image_url", "image_url": {"url": URL}}],
}
"""What a server says to everything."""


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


def openai(server: MockServer) -> tuple[str, ...]:
    return (
        "--model",
        "openai",
        "--model_args",
        f"model=m,base_url={server.url},outputs=text+image",
    )


def asked(server: MockServer) -> int:
    return int(server.stats()["requests"])


def run(
    tasks: str, output: Path, *words: str | Path, env: Mapping[str, str] | None = None
) -> Ended:
    data = () if "--data_dir" in words else ("--data", "bundled")
    return mmeval(
        "--tasks", tasks, *data, "--output_path", output, *QUIET, *words, env=env
    )


def values(output: Path, *, number: str = "mme_unify_score") -> dict[str, float | None]:
    """The values of a number by task and group."""
    rows = results(output)["mmeval"]["results"]
    found = [row for row in rows if (row["metric"], row["slice"]) == (number, "")]
    return {row["task"].removeprefix("mme_unify_"): row["value"] for row in found}


def test_what_a_model_cannot_do_counts_zero_and_both_rows_of_a_question_are_asked_once(
    tmp_path: Path, weights: Mapping[str, str], server: MockServer
) -> None:
    done = run("mme_unify", tmp_path / "runs", *openai(server), env=weights)
    found = values(tmp_path / "runs")
    # 7 questions that stand twice, 4 of generation without a clip, 4 of the unify
    # tasks, and 7 turns in mazes.
    assert (done.code, asked(server)) == (0, 22), done.err
    assert [found[task] for task in ("civg", "tvg", "vp")] == [None] * 3
    assert found["generation"] == pytest.approx(
        sum(found[task] or 0 for task in ("fir", "tie", "tig")) / 6
    )
    parts = [found[part] for part in ("understanding", "generation", "unify")]
    assert None not in parts
    assert found["mme_unify"] == pytest.approx(sum(part or 0 for part in parts) / 3)


def test_without_networks_what_needs_none_is_scored(tmp_path: Path) -> None:
    done = run("mme_unify", tmp_path, "--model", "reference")
    found = values(tmp_path)
    assert (done.code, found["understanding"]) == (0, 1.0)
    assert [found[name] for name in ("unify", "generation", "mme_unify")] == [None] * 3
    assert values(tmp_path, number="mme_unify_action") == {"vcot": 1.0}


def test_an_export_that_is_replayed_has_the_same_scores(
    tmp_path: Path, weights: Mapping[str, str], server: MockServer
) -> None:
    run("mme_unify", tmp_path / "runs", *openai(server), env=weights)
    exported = mmeval(
        "export",
        run_folder(tmp_path / "runs", "m"),
        "--format",
        "mme_unify",
        "-o",
        tmp_path / "out",
    )
    (place,) = (tmp_path / "out").iterdir()
    replay = (
        "--model",
        "replay",
        "--model_args",
        f"format=mme_unify,path={place}",
    )
    run("mme_unify", tmp_path / "replayed", *replay, env=weights)
    assert exported.code == 3  # the clips that the model cannot make
    for number in (
        "mme_unify_score",
        "mme_unify_plus",
        "mme_unify_action",
        "mme_unify_finish",
    ):
        assert values(tmp_path / "replayed", number=number) == values(
            tmp_path / "runs", number=number
        )


def test_data_without_the_pictures_to_choose_among_are_not_ready(
    tmp_path: Path,
) -> None:
    data = shutil.copytree(BUNDLED, tmp_path / "data")
    words = ("prepare", "mme_unify_csq", "--data_dir", data)
    whole = mmeval(*words)
    assert ("image 4" in whole.out, "candidate" in whole.out) == (True, False)
    shutil.rmtree(data / "media")
    done = mmeval(*words)
    assert (done.code, done.out.startswith("not ready  mme_unify_csq")) == (4, True)
    assert "4 of 4  candidates without their image" in done.out
    assert done.err.count("csq/0") == 1


VECTORS = {
    "maze_3_0": [1, 0, 0],
    "maze_3_1": [0, 1, 0],
    "maze_4_0": [1, 0, 0],
    "maze_4_1": [0, 1, 0],
    "maze_4_2": [0, 0, 1],
}
TAKEN: list[list[tuple[str, list[int], str | None]]] = [
    [
        ("Right", [1, 0], "maze_3_1"),
        ("down", [2, 2], "maze_3_0"),
        ("Finish", [2, 2], None),
    ],
    [("Up", [4, 1], "maze_4_1"), ("Left", [0, 1], "maze_4_1")],
]
"""The action, location and picture of each step of the two bundled mazes."""


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        # Of 2 + 3 moves: Right, down and Up; [1, 0] and [0, 1]; the pictures after the
        # first moves of both.
        (
            "standard",
            {
                "action": 3 / 5,
                "location": 2 / 5,
                "maze_image": 2 / 3,
                "finish": 1 / 2,
                "plus": 0,
            },
        ),
        # Of twice 4 steps: Right, Finish and Up; [2, 2] and [4, 1]; the picture of step
        # 1 in the second.
        (
            "official",
            {
                "action": 3 / 8,
                "location": 2 / 8,
                "maze_image": 1 / 8,
                "finish": 1 / 2,
                "plus": 0,
            },
        ),
    ],
)
def test_result_files_of_mazes_are_scored_in_both_profiles(
    profile: str, expected: dict[str, float], tmp_path: Path
) -> None:
    data, answers = tmp_path / "data", tmp_path / "results"
    shutil.copytree(BUNDLED, data)
    answers.mkdir()
    rows = json.loads(
        (BUNDLED / "Uinfy_capability" / "Visual_CoT" / "Visual_CoT.json").read_text()
    )
    for row, steps in zip(rows, TAKEN, strict=True):
        row["outputs"] = {
            f"output_step_{number}": {
                "output_action": action,
                "output_location": location,
                "output_image": shown and f"{shown}.png",
            }
            for number, (action, location, shown) in enumerate(steps)
        }
    (answers / "Visual_CoT.json").write_text(json.dumps(rows))
    lines = []
    for name, vector in VECTORS.items():
        shutil.copy(BUNDLED / "media" / f"{name}.png", answers)
        digest = sha256((BUNDLED / "media" / f"{name}.png").read_bytes()).hexdigest()
        lines.append(json.dumps({"sha256": digest, "vector": vector}))
    (tmp_path / "vectors.jsonl").write_text("\n".join(lines))
    given = json.dumps(
        {"mme_unify_maze_image": {"vectors": str(tmp_path / "vectors.jsonl")}}
    )
    replay = (
        "--model",
        "replay",
        "--model_args",
        f"format=mme_unify,path={answers}",
        "--metric_args",
        given,
    )
    done = run(
        "mme_unify_vcot",
        tmp_path / "runs",
        "--data_dir",
        data,
        "--profile",
        profile,
        *replay,
    )
    found = {
        name: values(tmp_path / "runs", number=f"mme_unify_{name}")["vcot"]
        for name in expected
    }
    assert found == pytest.approx(expected), done.err
    score = sum(expected[name] for name in ("action", "location", "maze_image")) / 3
    assert values(tmp_path / "runs")["vcot"] == pytest.approx(score)
