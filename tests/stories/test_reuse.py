"""What may be answered from what was answered before: never another question, never
another model."""

import importlib.metadata
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.cli import (
    QUIET,
    Ended,
    environment,
    mmeval,
    openai,
    results,
    run_folder,
    score_files,
)
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_task
from tests.support.readers import latest, read_samples
from tests.support.tiny_media import picture

ROWS = 4
PROMPT = 'prompt: "Look: {{ input }}"\n'


@dataclass
class Asking:
    """A task with a picture in each question, and the command that runs it."""

    folder: Path
    server: MockServer
    before: int = 0
    model: dict[str, str] = field(
        default_factory=lambda: {"model": "m", "outputs": "text+image"}
    )
    flags: list[str] = field(
        default_factory=lambda: ["--model_tag", "same", "--log_samples"]
    )
    env: dict[str, str] = field(default_factory=dict)

    def replace(self, old: str, new: str) -> None:
        file = self.folder / "look.yaml"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    def run(self, *flags: str) -> Ended:
        where = (
            "--tasks",
            "look",
            "--include_path",
            self.folder,
            "--output_path",
            self.folder / "runs",
            *QUIET,
        )
        return mmeval(
            *where,
            *openai(self.server, **self.model),
            *self.flags,
            *flags,
            env=environment(**self.env),
        )

    def run_elsewhere(self) -> Ended:
        """Another run, which knows the first one only by the answers that runs
        share."""
        return self.run(
            "--use_cache", str(self.folder / "cache"), "--run_id", "elsewhere"
        )

    @property
    def asked(self) -> int:
        """Requests since the first run."""
        return int(self.server.stats()["requests"]) - self.before

    def answers(self) -> list[object]:
        return [
            row["resps"]
            for row in read_samples(latest(self.folder / "runs")[1]["look"])
        ]


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


@pytest.fixture(scope="module")
def first_run(server: MockServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a task that was run once, its answers kept for other runs too."""
    folder = tmp_path_factory.mktemp("first")
    asked = (
        {"text": f"What is {i} in <<image1>>?", "media": {"image1": f"{i}.png"}}
        for i in range(ROWS)
    )
    rows = (
        {"id": str(i), "input": text, "reference": "a cat"}
        for i, text in enumerate(asked)
    )
    write_task(folder, "look", rows, more=PROMPT)
    for i in range(ROWS):
        (folder / "look_data" / f"{i}.png").write_bytes(picture(size=(4 + i, 4)))
    done = Asking(folder, server).run("--use_cache", str(folder / "cache"))
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def asking(first_run: Path, server: MockServer, tmp_path: Path) -> Asking:
    """The run as it was left, in a folder of the test's own."""
    folder = Path(shutil.copytree(first_run, tmp_path / "run"))
    return Asking(folder, server, before=server.stats()["requests"])


def another_byte(asking: Asking) -> None:
    medium = asking.folder / "look_data" / "2.png"
    content = bytearray(medium.read_bytes())
    content[-20] ^= 1
    medium.write_bytes(content)


def moved(asking: Asking) -> None:
    """The data set under another name, its media under other names."""
    data = asking.folder / "look_data"
    rows = (data / "test.jsonl").read_text().replace(".png", ".again.png")
    (data / "test.jsonl").write_text(rows)
    for medium in data.glob("*.png"):
        medium.rename(medium.with_suffix(".again.png"))
    data.rename(asking.folder / "elsewhere")
    asking.replace("dataset_path: look_data", "dataset_path: elsewhere")


Change = Callable[[Asking], object]

ANOTHER_MODEL: dict[str, tuple[Change, str]] = {
    "model": (lambda a: a.model.update(model="m2"), 'model.model "m" -> "m2"'),
    "outputs": (lambda a: a.model.update(outputs="text"), "model.outputs"),
    "seed": (lambda a: a.flags.extend(("--seed", "7")), "seed 0 -> 7"),
}
ANOTHER_QUESTION: dict[str, tuple[Change, int]] = {
    "prompt": (lambda a: a.replace("Look: ", "Look well: "), ROWS),
    "wanted modality": (lambda a: a.replace("[text]", "[text, image]"), ROWS),
    "generation parameter": (
        lambda a: a.flags.extend(("--gen_kwargs", "temperature=0.5")),
        ROWS,
    ),
    "one byte of one medium": (another_byte, 1),
}
NO_CHANGE: dict[str, Change] = {
    "time limit": lambda a: a.model.update(timeout="99"),
    "key": lambda a: a.env.update(OPENAI_API_KEY="sk-another-key-0123456789"),
    "place and names of the data": moved,
    "label of the task": lambda a: a.replace(
        "task: look\n", "task: look\ntask_alias: Look!\n"
    ),
}


@pytest.mark.parametrize(("change", "named"), ANOTHER_MODEL.values(), ids=ANOTHER_MODEL)
def test_another_model_is_refused_here_and_asked_anew_elsewhere(
    change: Change, named: str, asking: Asking
) -> None:
    before = score_files(asking.folder)
    change(asking)
    refused = asking.run()
    assert refused.code == 2
    assert named in refused.error
    assert asking.asked == 0
    assert score_files(asking.folder) == before
    assert (asking.run_elsewhere().code, asking.asked) == (0, ROWS)


@pytest.mark.parametrize(
    ("change", "new"), ANOTHER_QUESTION.values(), ids=ANOTHER_QUESTION
)
def test_another_question_never_has_an_old_answer(
    change: Change, new: int, asking: Asking
) -> None:
    old = asking.answers()
    change(asking)
    done = asking.run()
    assert (done.code, asking.asked) == (0, new), done.err
    assert sum(a != b for a, b in zip(old, asking.answers(), strict=True)) == new
    assert results(asking.folder)["n-samples"]["look"]["effective"] == ROWS
    assert (asking.run_elsewhere().code, asking.asked) == (0, 2 * new)


@pytest.mark.parametrize("change", NO_CHANGE.values(), ids=NO_CHANGE)
def test_what_changes_no_answer_keeps_every_answer(
    change: Change, asking: Asking
) -> None:
    change(asking)
    here, elsewhere = asking.run(), asking.run_elsewhere()
    assert (here.code, elsewhere.code, asking.asked) == (0, 0, 0), (
        here.err + elsewhere.err
    )


def test_an_upgraded_library_is_recorded_with_old_answers(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata,
        "version",
        lambda name: "999.9" if name == "aiohttp" else known(name),
    )
    done = asking.run()
    record = json.loads(
        (run_folder(asking.folder / "runs", "same") / "run.json").read_text()
    )
    versions = [
        session["provenance"]["model"]["aiohttp"] for session in record["sessions"]
    ]
    assert (done.code, asking.asked, versions[1] == "999.9" != versions[0]) == (
        0,
        0,
        True,
    )


def test_fresh_starts_over_and_keeps_what_was_there(asking: Asking) -> None:
    asking.model["revision"] = "abc"
    assert (asking.run("--fresh").code, asking.asked) == (0, ROWS)
    assert len(list((asking.folder / "runs").glob("same/*/journal"))) == 2
