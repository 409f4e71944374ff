import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.tiny_media import picture, wav
from tests.support.words import Case, shown

FILES: dict[str, str | bytes] = {
    **{
        "a.png": picture(size=(40, 40)),
        "b.png": picture(size=(40, 30)),
        "dot.png": picture(),
    },
    **{"a.wav": wav(8000), "empty.wav": b"", "a.txt": "words\n", "a.obj": "v 0 0 0\n"},
}
WORDS = (
    "",
    "wre --answer x",
    "wer",
    "wer --answer 'the old men sat' --target 'the old man sat'",
    "overall",
    "exact_match --answer b --target a --target b --json",
    "sts --answer a --target b",
    "wer --answer x --params {",
    "wer --answer x --params []",
    'wer --answer \'[{"type": "text", \'',
    "wer --answer x --cases c.jsonl",
    "wer --cases gone.jsonl",
    "wer --answer x gone.wav",
    "wer --answer x --target x --judge empty",
    "exact_match --answer x --profile offical",
    "image_quality a.txt --answer '<<image2>>, <<image7>>'",
    "audio_quality a.png",
    "ssim a.png --target a.png",
    "transcript a.wav --metric_device tpu",
    'ssim dot.png --target \'[{"type": "image", "path": "dot.png"}]\'',
    'ssim a.png --target \'[{"type": "image", "path": "b.png"}]\'',
)
SWITCHES: dict[str, tuple[dict[str, Any], ...]] = {
    "wer": ({"normalise": "basik"}, {"normalize": "none"}),
    "exact_match": ({"strip": "no"},),
    "hf_evaluate": ({"trust_remote_code": True},),
    "transcript": ({"model": "org/absent"}, {"model": "a b"}),
    "pitch_band": ({"female_low": 400},),
    "intensity": ({"hop": 0},),
}
OF_JUDGES: dict[str, tuple[dict[str, Any], ...]] = {
    "judge_grade": ({"levels": ["a"]},),
    "judge_yes_no": (
        {"repeats": 0},
        {"combine": "most"},
        {"not_sure": 2.0},
        {"question_key": "gone"},
    ),
    "judge_choice": ({}, {"options_key": "gone"}),
}
LABELS: dict[str, tuple[dict[str, Any], ...]] = {
    "pitch_band": ({"pitch": "deep"},),
    "tempo": ({"tempo": "x"},),
    "word_accuracy": ({}, {"text": ""}),
    "choice": ({"options": 3},),
}
MODELLESS = {"pitch_band": """ --params '{"gender": "male"}'"""}
"""Switches that make the model of a metric unnecessary."""
LINES = (
    "[1]",
    {"anwser": "b"},
    {"answer": "b", "files": "a.png"},
    {"answer": "b", "params": {"strp": True}},
    {"answer": "b", "profile": "offical"},
    {"files": ["gone.png"]},
)
JUDGES = {
    "judge_yes_no": '{{"verdict": "not sure"}}',
    "judge_grade": '{{"grade": 9}}',
    "judge_choice": "no JSON",
}


def _cases(row: Any) -> dict[str, str | bytes]:
    return {
        "c.jsonl": '{"answer": "b", "target": "b"}\n'
        + (row if isinstance(row, str) else json.dumps(row))
        + "\n"
    }


CASES = {
    **{words or "no metric": Case(f"try metric {words}", FILES) for words in WORDS},
    **{
        f"{name} {params}": Case(
            f"try metric {name} --answer x --params '{json.dumps(params)}'", FILES
        )
        for name, several in SWITCHES.items()
        for params in several
    },
    **{
        f"{name} of {labels}": Case(
            f"try metric {name} a.wav --metadata "
            f"'{json.dumps(labels)}'{MODELLESS.get(name, '')}",
            FILES,
        )
        for name, several in LABELS.items()
        for labels in several
    },
    **{
        f"{name} {file}": Case(f"try metric {name} {file}", FILES)
        for name, file in (
            ("silence_segments", "a.png"),
            ("silence_segments", "empty.wav"),
            ("silence_segments", "a.wav a.wav"),
            ("niqe", "dot.png"),
            ("video_quality", "a.wav"),
        )
    },
    **{
        f"the case {line}": Case("try metric exact_match --cases c.jsonl", _cases(line))
        for line in LINES
    },
    **{
        f"{name} {params} by a judge": Case(
            f"try metric {name} --answer x --judge empty --params '{json.dumps(params)}'",
            FILES,
        )
        for name, several in OF_JUDGES.items()
        for params in several
    },
    **{
        f"{name}, the judge says {reply}": Case(
            f"try metric {name} --answer x --judge openai,model=j --judge_base_url URL",
            FILES,
            server={"reply": reply},
        )
        for name, reply in JUDGES.items()
    },
}


@pytest.mark.parametrize("name", CASES)
def test_metric(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
