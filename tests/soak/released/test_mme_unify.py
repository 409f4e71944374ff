"""MME-Unify's tasks in released words: each request, item by item.

The released file is a stand-in of the same shape. No released script asks its texts: a
text is the system message, and the data are the user's.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.tasks import mme_unify
from tests.soak.support.stand_ins import named_media, shown, with_digests_of
from tests.support.able_server import Abilities, AbleServer
from tests.support.cli import QUIET, mmeval, results
from tests.support.servers import LocalHandler, LocalServer

TASKS = Path(mme_unify.__file__).parent
HEADINGS = (
    "Understanding:",
    "Image_Editing_and_Explaining:",
    "Common_Sense_Question:",
    "Auxiliary Lines:",
    "SpotDiff:",
    "Visual CoT:",
    "First Step:",
    "After First Step:",
)
ASKED_BY_CHAT = ("sipu", "mitiu", "vpu", "iee", "csq", "al", "sd", "vcot")
GENERATION = ("fir", "tie", "tig")
FILMS = ("civg", "tvg", "vp")
REPLY = "Answer: A\nAction: Right\nLocation: [1, 0]\nImage:"
STEP_0 = "Step 0\nAction: Right\nLocation: [1, 0]\nImage:\n"
STEP_1 = "Step 1\nAction: Right\nLocation: [1, 0]\nImage:\n"


def words(heading: str) -> str:
    """A text with characters that a template would read as its own."""
    return f'“Words” of {heading} {{"a": {{{{x}}}}}}\n{{% y %}} {{# z #}}'


def picture(name: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": name}}


def text(content: str) -> dict[str, str]:
    return {"type": "text", "text": content}


CALLS: dict[str, tuple[str, Any]] = {
    "single pictures": (
        "Understanding:",
        [
            picture("house.png"),
            text("Is there a red roof in the picture?\nA. Yes\nB. No"),
        ],
    ),
    "interleaved pictures": (
        "Understanding:",
        [
            text("By day there is "),
            picture("sun.png"),
            text(" above the water "),
            picture("lake.png"),
            text(
                ". What is missing at night?\n"
                "A: the sun\nB: the water\nC: both\nD: nothing"
            ),
        ],
    ),
    "an edited picture": (
        "Image_Editing_and_Explaining:",
        [picture("box_black.png"), text("Paint the box red.")],
    ),
    "common sense": (
        "Common_Sense_Question:",
        "What gives light by day?\nA: a box\nB: a lake\nC: the sun\nD: a roof",
    ),
    "auxiliary lines": (
        "Auxiliary Lines:",
        [
            picture("figure.png"),
            text(
                "Two sides of the triangle are equal. How many axes of symmetry has it "
                "at least?\nA: 0\nB: 1\nC: 2\nD: 3"
            ),
        ],
    ),
    "differences": (
        "SpotDiff:",
        [
            picture("twins_a.png"),
            picture("twins_b.png"),
            text("A: 1\nB: 2\nC: 4\nD: 6"),
        ],
    ),
    "the first turn of a maze": ("First Step:", [picture("maze_3_0.png")]),
    "the second turn of a maze": (
        "After First Step:",
        [picture("maze_3_0.png"), text(STEP_0)],
    ),
    "the third turn of a maze": (
        "After First Step:",
        [picture("maze_3_0.png"), text(STEP_0 + STEP_1)],
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the tasks, whose released texts are in the cache."""
    folder = tmp_path_factory.mktemp("released")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MMEVAL_CACHE_DIR", str(folder / "cache"))
        shutil.copytree(TASKS, folder / "tasks", ignore=shutil.ignore_patterns("*.py"))
        clone = folder / "clone"
        clone.mkdir()
        sections = [f"{heading}\n{words(heading)}\n" for heading in HEADINGS]
        (clone / "Prompt.txt").write_text("\n".join(sections))
        with_digests_of(folder / "tasks" / "released.yaml", clone)
        task = folder / "tasks" / "mme_unify_sipu.yaml"
        mmeval("prepare", task, "--prompts", "--prompts_from", clone)
        yield folder


@pytest.fixture(autouse=True)
def cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache of the module, because each test has a cache of its own."""
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(folder / "cache"))


def asked(folder: Path, names: tuple[str, ...]) -> list[Any]:
    """The calls of a run, whose media have the names of their files."""
    files = [str(folder / "tasks" / f"mme_unify_{name}.yaml") for name in names]
    abilities = Abilities(sees=False, watches=False, json_mode=False, prose=REPLY)
    with AbleServer(abilities) as server:
        address = f"model=m,base_url={server.url},outputs=text+image"
        done = mmeval(
            "run",
            *("--tasks", ",".join(files), "--data", "bundled"),
            *("--model", "openai", "--model_args", address, "--probe", "false"),
            *("--prompts", "released", "--predict_only", "true"),
            *("--output_path", folder / names[0], *QUIET),
        )
        assert done.code == 0, done.err
        media = named_media(folder / "tasks" / "bundled" / "media")
        return [shown(body["messages"], media) for body in server.questions]


@pytest.fixture(scope="module")
def calls(folder: Path) -> list[Any]:
    return asked(folder, ASKED_BY_CHAT)


@pytest.mark.parametrize("case", CALLS)
def test_a_call_has_the_released_text_then_the_data(
    calls: list[Any], case: str
) -> None:
    heading, content = CALLS[case]
    assert [("system", words(heading)), ("user", content)] in calls


def test_the_frames_of_a_clip_are_in_the_call(calls: list[Any]) -> None:
    of_clips = []
    for system, user in calls:
        kinds = [item["type"] for item in user[1] if isinstance(item, dict)]
        if kinds == ["image_url"] * 6 + ["text"]:
            of_clips.append(system)
    assert ("system", words("Understanding:")) in of_clips


def test_every_call_is_in_released_words(calls: list[Any]) -> None:
    texts = {words(heading) for heading in HEADINGS}
    assert all(call[0][0] == "system" and call[0][1] in texts for call in calls)


def test_generation_is_asked_with_the_text_of_the_data(folder: Path) -> None:
    calls = asked(folder, GENERATION)
    assert sorted(map(str, calls)) == sorted(
        str([("user", content)])
        for content in (
            [picture("house.png")],
            [picture("house.png"), text("turn the red roof into a blue one")],
            [picture("house_in_blue.png"), text("Paint the roof red.")],
            "a chart of three blue bars, each higher than the one before",
        )
    )


class Films(LocalServer):
    """Keeps the forms of requests for films, and makes none."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, bool]] = []
        super().__init__(self._handler())

    def _handler(self) -> type[LocalHandler]:
        owner = self

        class Handler(LocalHandler):
            def respond(self) -> None:
                *_, form = self.body().split(b'name="prompt"\r\n\r\n')
                prompt = form.partition(b"\r\n--")[0].decode()
                owner.prompts.append((prompt, b'name="input_reference"' in form))
                self.send_response(400)
                self.send_header("Content-Length", "0")
                self.end_headers()

        return Handler


def test_films_are_asked_with_the_text_of_the_data(folder: Path) -> None:
    files = [str(folder / "tasks" / f"mme_unify_{name}.yaml") for name in FILMS]
    with Films() as server:
        address = f"base_url={server.url},endpoint=videos,videos_sync=true"
        mmeval(
            "run",
            *("--tasks", ",".join(files), "--data", "bundled"),
            *("--model", "openai", "--model_args", f"model=m,{address}"),
            *("--prompts", "released", "--predict_only", "true", "--probe", "false"),
            *("--output_path", folder / "films", *QUIET),
        )
    # the second value is True if a picture is sent
    assert sorted(server.prompts) == [
        ("The red disc rolls to the right. --motion 1", True),
        ("The square goes on falling.", True),
        ("a blue square is falling", False),
    ]


def test_the_record_of_a_run_names_the_texts_of_each_task(folder: Path) -> None:
    asked(folder, ("iee", "vcot"))
    configs = results(folder / "iee")["configs"]
    of_task = configs["mme_unify_iee"]["task_prompt"]
    of_turns = configs["mme_unify_vcot"]["protocol"]
    assert of_task["released"] == "mme.iee"
    assert of_turns["first"]["released"] == "mme.vcot.first"
    assert of_turns["later"]["released"] == "mme.vcot.later"
