"""The agents of UniM and ISG-Bench, with models on this machine as their tools."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.soak.support.agents import FollowingState
from tests.stories.test_unima import SAID
from tests.support.agents import add, call, caption, plan, select
from tests.support.cli import QUIET, mmeval, run_folder
from tests.support.mock_openai_server import MockServer, Settings, last_text
from tests.support.models import tiny_model
from tests.support.readers import read_samples

TINY = "hf,pretrained=tiny"
UNIMA_TOOLS = {
    "image8": ("text_to_image", "a red square"),
    "image9": ("image_edit", "<<image8>> at night"),
    "audio6": ("text_to_speech", "Good morning."),
    "audio7": ("text_to_sound", "rain on a roof"),
    "audio8": ("text_to_music", "a slow waltz"),
    "audio9": ("clone_speech", "Good night, in the voice of <<audio6>>"),
    "video9": ("text_to_video", "a wave on a beach"),
}
"""The tool and the description of each item of the answer."""
ISG_TOOLS = {
    "text_to_image": select("ImageGeneration"),
    "image_edit": select("ImageEdit"),
    "image_to_video": select(
        "VideoGeneration", prompt_list=[{"type": "text", "content": "it moves"}]
    ),
    "fixed_views": select("Fixed3DGeneration"),
    "free_views": select("Free3DGeneration", time_stamps=[0.25]),
    "image_morph": select("ImageMorph"),
}
"""The selector's reply for each tool."""
INPUTS = {"text_to_image": 0, "image_morph": 2}
"""The number of input pictures of a tool, if it is not 1."""


def answer(output: Path, agent: str, *words: str) -> dict[str, Any]:
    """The only answer of a run of an agent."""
    done = mmeval(
        "--data",
        "bundled",
        "--limit",
        "1",
        "--model",
        agent,
        "--output_path",
        output,
        "--log_samples",
        *QUIET,
        *words,
    )
    assert done.code == 0, done.err
    (file,) = run_folder(output, agent).glob("samples_*.jsonl")
    (row,) = read_samples(file)
    return row


def kinds(row: Mapping[str, Any]) -> list[str]:
    """The kinds of the media in an answer."""
    parts = [part for part in row["parts"][0] if part["type"] != "text"]
    assert all("media" in part for part in parts), parts
    return [part["type"] for part in parts]


def roles(row: Mapping[str, Any]) -> set[str]:
    ((trace,),) = row["trace"]
    assert not any("error" in step for step in trace["steps"])
    return {step["role"] for step in trace["steps"]} - {"planner"}


def unima_plan() -> dict[str, Any]:
    contents: dict[str, dict[str, str]] = {"image": {}, "audio": {}, "video": {}}
    for label, (_, description) in UNIMA_TOOLS.items():
        contents[label.rstrip("0123456789")][label] = description
    return {
        "modalities_content": contents,
        "text_content": " ".join(f"<<{label}>>" for label in UNIMA_TOOLS),
        "tool_list": {label: tool for label, (tool, _) in UNIMA_TOOLS.items()},
    }


def of_folder(backend: str, model: str, *arguments: str) -> str:
    """A tool's backend, with a tiny random model in a folder."""
    settings = [f"{backend},pretrained={tiny_model(model)}", *arguments]
    return ",".join(settings)


def test_the_embedded_model_plays_all_tools_of_unima(tmp_path: Path) -> None:
    players = dict.fromkeys((tool for tool, _ in UNIMA_TOOLS.values()), TINY)
    row = answer_of_unima(tmp_path, players)
    assert kinds(row) == ["image"] * 2 + ["audio"] * 4 + ["video"]
    assert roles(row) == players.keys()


def test_pipelines_and_models_of_sounds_play_the_tools_of_unima(tmp_path: Path) -> None:
    players = {
        "text_to_image": of_folder("diffusers", "sd", "num_inference_steps=2"),
        "image_edit": of_folder("diffusers", "sd_edit", "num_inference_steps=2"),
        "text_to_video": of_folder(
            "diffusers",
            "wan",
            "num_inference_steps=2",
            "num_frames=5",
            "width=32",
            "height=32",
        ),
        "text_to_sound": of_folder(
            "diffusers", "stable_audio", "num_inference_steps=2"
        ),
        "text_to_music": of_folder("hf", "musicgen"),
        "text_to_speech": of_folder("hf", "bark"),
        "clone_speech": of_folder("hf", "csm"),
    }
    row = answer_of_unima(tmp_path, players)
    assert kinds(row) == ["image"] * 2 + ["audio"] * 4 + ["video"]
    assert roles(row) == players.keys()


def answer_of_unima(folder: Path, players: Mapping[str, str]) -> dict[str, Any]:
    """The answer of UniMA to one sample, with a backend for each tool."""
    said = {**SAID, "Items can be made by": json.dumps(unima_plan())}
    replies = folder / "replies.jsonl"
    lines = [json.dumps({"contains": part, "reply": said[part]}) for part in said]
    replies.write_text("\n".join(lines))
    words: list[str] = []
    for tool, player in players.items():
        words += ["--role", f"{tool}={player}"]
    with MockServer(replies=str(replies)) as server:
        planner = f"planner=openai,base_url={server.url},model=p"
        return answer(
            folder / "runs",
            "unima",
            "--tasks",
            "unim_hard",
            "--skip_metric",
            # it needs more of a sound than tiny models make
            "audio_quality",
            "--role",
            planner,
            *words,
        )


class OneToolState(FollowingState):
    """Every plan has one step with one tool, and shows its first picture."""

    def __init__(self, settings: Any, tool: str) -> None:
        super().__init__(settings)
        self.tool = tool

    def message(self, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        words = last_text(body)
        found = super().message(body, key)
        if "three labels" in words:
            count = INPUTS.get(self.tool, 1)
            names = [f"#image{number + 1}#" for number in range(count)]
            steps = (call(f"Use {self.tool}", *names), caption(), add("<GEN_0>"))
            return {**found, "content": plan(*steps)}
        if "The step comes with" in words:
            return {**found, "content": ISG_TOOLS[self.tool]}
        return found


@pytest.mark.parametrize("tool", ISG_TOOLS)
def test_the_embedded_model_plays_each_tool_of_the_agent_of_isg_bench(
    tool: str, tmp_path: Path
) -> None:
    with MockServer() as server:
        server.state = OneToolState(Settings(), tool)
        row = answer(
            tmp_path,
            "isg_agent",
            "--tasks",
            "isg_image_animation",
            "--model_args",
            # the official agent accepts any number of pictures
            "profile=official",
            "--role",
            f"planner=openai,base_url={server.url},model=p",
            "--role",
            f"{tool}={TINY}",
        )

    assert kinds(row) == ["image"]
    assert roles(row) == {tool}
