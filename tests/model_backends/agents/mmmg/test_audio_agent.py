import time
from pathlib import Path
from typing import Any

import pytest

from mmeval.model_backends.agents.mmmg.audio_agent import AudioItem, read_item
from mmeval.records import GenerationParams
from tests.support.agents import calls_of, driven, kinds, titles
from tests.support.tiny_media import wav

MADE = AudioItem("speech", "A", "a man")
REFERRING = AudioItem("speech", "B", reference=0)


def inside(kind: str, text: str, style: str) -> str:
    return f'<audio_type="{kind}"><audio_text="{text}"><audio_style={style}>'


def place(kind: str, text: str, style: str) -> str:
    return f"<audio_start>{inside(kind, text, style)}<audio_end>"


def play(
    plan: str, *, tools: dict[str, Any] | None = None, **case: Any
) -> dict[str, Any]:
    return driven("mmmg_audio_agent", {"planner": [plan], **(tools or {})}, **case)


@pytest.mark.parametrize(
    ("written", "item"),
    [
        (inside("speech", "Hi", '"a man"'), AudioItem("speech", "Hi", "a man")),
        (inside("music", "", '""'), AudioItem("music", "")),
        (
            inside("speech", 'say "hi" twice', '"a "loud" man"'),
            AudioItem("speech", 'say "hi" twice', 'a "loud" man'),
        ),
        (
            '</audio_type="speech">< audio_text="Hi" / ></audio_style=#0 />',
            AudioItem("speech", "Hi", reference=0),
        ),
        (inside("speech", "Hi", "1"), AudioItem("speech", "Hi", reference="audio1")),
        (
            inside("speech", 'x"><audio_style=y', "#0"),
            AudioItem("speech", 'x"><audio_style=y', reference=0),
        ),
    ],
    ids=repr,
)
def test_a_placeholder_is_read(written: str, item: AudioItem) -> None:
    assert read_item(written, before=[MADE, REFERRING, None], sounds=2) == item


@pytest.mark.parametrize(
    "written",
    [
        *(
            inside("speech", "Hi", style)
            for style in ("2", "#1", "#2", "#3", "calm", "#" + "9" * 5000)
        ),
        inside("song", "Hi", '"a man"'),
        '<audio_type="speech"><audio_text="Hi">',
        "",
    ],
)
def test_a_placeholder_is_malformed(written: str) -> None:
    fault = read_item(written, before=[MADE, REFERRING, None], sounds=2)
    assert isinstance(fault, str)


def test_each_type_has_its_tool_and_speech_in_a_voice_follows_in_a_second_round(
    tmp_path: Path,
) -> None:
    (tmp_path / "user.wav").write_bytes(wav())
    plan = "".join(
        (
            place("speech", "One.", '"an old man"'),
            place("sound", "", '"rain"'),
            place("music", "", '"a slow waltz"'),
            place("speech", "Two.", "0"),
            place("speech", "Three.", "#0"),
            place("music", "Four.", "0"),
            place("sound", "Five.", "#1"),
        )
    )
    result = play(plan, prompt="Read.", files=["user.wav"], folder=tmp_path)
    assert result["evidence"]["rounds"] == [[0, 1, 2, 3, 5], [4, 6]]
    assert [
        (step["role"], step["text"], len(step["media"])) for step in result["steps"][1:]
    ] == [
        ("text_to_speech", "an old man\nOne.", 0),
        ("text_to_sound", "rain", 0),
        ("text_to_music", "a slow waltz", 0),
        ("clone_speech", "Two.", 1),
        ("clone_speech", "Four.", 1),
        ("clone_speech", "Three.", 1),
        ("clone_speech", "Five.", 1),
    ]
    assert kinds(result) == ["audio"] * 7
    assert result["warnings"] == []


@pytest.mark.parametrize(
    ("plan", "answer"),
    [
        ("I cannot help with that.", None),
        (place("speech", "Hi", "#0"), None),
        ("<audio_start>bad<audio_end>" + place("speech", "Hi", "#0"), None),
    ],
    ids=["refusal", "itself", "of a malformed one"],
)
def test_what_is_no_placeholder_stays_with_a_warning(
    plan: str, answer: str | None
) -> None:
    result = play(plan)
    assert result["answer"] == (answer or plan)
    assert titles(result) == ["plan"]
    assert result["error"] is None
    assert result["warnings"]


@pytest.mark.parametrize(
    "reply",
    [
        {"error": "timeout"},
        "words",
    ],
    ids=[
        "it hangs",
        "another kind",
    ],
)
def test_a_sound_that_is_not_made_leaves_its_placeholder_without_one(
    reply: Any,
) -> None:
    plan = place("speech", "One.", '"a man"') + place("speech", "Two.", "#0")
    result = play(plan, tools={"text_to_speech": [reply]})
    assert kinds(result) == ["(audio)", "(audio)"]
    assert titles(result) == ["plan", "audio0"]
    assert (
        result["answer"]
        == "<audio_start><audio_0><audio_end><audio_start><audio_1><audio_end>"
    )
    assert result["error"] is None
    assert len(result["warnings"]) == 2


def test_a_placeholder_for_a_tool_that_is_not_there_is_malformed() -> None:
    result = play(place("music", "", '"jazz"'), tools={"text_to_music": None})
    assert kinds(result) == []
    assert titles(result) == ["plan"]
    assert "--role text_to_music=BACKEND" in result["warnings"][0]


@pytest.mark.parametrize(
    "plan",
    [
        "<audio_start>" * 80_000,
        '"><audio_style=' * 70_000,
        '"><audio_style="' * 70_000,
        place("speech", '"/ ' * 300_000, "#"),
    ],
    ids=["openings", "middles", "quoted middles", "quotes"],
)
def test_a_plan_of_a_megabyte_is_read_at_once(plan: str) -> None:
    start = time.process_time()
    play(plan)
    play(f'<audio_start><audio_type="speech"><audio_text="{plan}<audio_end>')
    assert time.process_time() - start < 5


def test_options_of_a_request_reach_the_tools() -> None:
    plan = (
        place("speech", "Hi", '"calm"')
        + place("sound", "", '"rain"')
        + place("music", "", '"jazz"')
    )
    params = GenerationParams(options={"audio.voice": "v", "image.size": "8x8"})
    _, *made = calls_of("mmmg_audio_agent", params, ("audio",), plan)
    assert [call.request.params.options for call in made] == [{"audio.voice": "v"}] * 3
