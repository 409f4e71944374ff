"""MME-Unify from end to end: on the bundled rows, with networks of random weights."""

import base64
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval.tasks import mme_unify
from tests.support.cli import QUIET, Ended, environment, mmeval, results, run_folder
from tests.support.mock_openai_server import MockServer
from tests.support.models import weights_folder

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
