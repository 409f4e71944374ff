"""The values of MMMG's released scorers, through ``mmeval try metric NAME --cases FILE
--profile official``.

The inputs are generated; the values were computed once by the released scripts (image
evaluators 6c7142e8, audio evaluators 54527db8, interleaved evaluators 30c9f602).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from mmeval.__main__ import main
from mmeval.media.encode import png, wav
from tests.support.pictures import noise
from tests.support.sounds import RATE, alternating, pulses, tone, voice

SCORE, SLOPE, MEL, SAMPLES = 1e-4, 1e-3, 0.5, 512
"""How far a value may be from the released one."""

Pixels = np.ndarray[Any, np.dtype[np.uint8]]
Row = Mapping[str, Any]


Colour = tuple[int, int, int]
Size = tuple[int, int, int]
"""Height, width and seed."""


class Case(NamedTuple):
    """A line of a cases file, and the value and the evidence that the released script
    gives."""

    name: str
    row: Row
    value: float
    evidence: Mapping[str, Any] = {}
    tolerance: float = SCORE


def picture(pixels: Pixels | Image.Image) -> Row:
    return {
        "type": "image",
        "path": png(
            pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
        ),
    }


def sound(samples: Any) -> Row:
    return {"type": "audio", "path": wav(samples, RATE)}


def speckled(
    shape: tuple[int, int], color: tuple[int, int, int], jitter: int, seed: int
) -> Pixels:
    """One colour with noise of at most ``jitter``."""
    rng = np.random.RandomState(seed)
    return np.clip(
        np.array(color) + rng.randint(-jitter, jitter + 1, (*shape, 3)), 0, 255
    ).astype(np.uint8)


def filled(name: str, pixels: Pixels, metadata: Row, expected: Sequence[Any]) -> Case:
    value, ssim, penalty, mean = expected
    row = {"answer": [picture(pixels)], "metadata": metadata}
    return Case(name, row, value, {"ssim": ssim, "penalty": penalty, "avg_color": mean})


def region(
    name: str,
    size: Size,
    share: tuple[float, float],
    fill: tuple[Colour, int],
    *more: Any,
) -> Case:
    """``share`` is how much of width and height is filled, from the upper left."""
    (place, color), *expected = more
    pixels = noise(*size)
    rows, columns = round(share[1] * size[0]), round(share[0] * size[1])
    pixels[:rows, :columns] = speckled((rows, columns), *fill, size[2])
    return filled(name, pixels, {"region": place, "color": color}, expected)


def border(
    name: str,
    size: Size,
    share: float,
    fill: tuple[Colour, int],
    color: str,
    *expected: Any,
) -> Case:
    height, width, seed = size
    down, across = round(share * height), round(share * width)
    pixels = speckled((height, width), *fill, seed)
    inside = (slice(down, height - down), slice(across, width - across))
    pixels[inside] = noise(*size)[inside]
    return filled(name, pixels, {"color": color}, expected)


def edit(
    name: str,
    seed: int,
    box: list[int],
    size: tuple[int, int],
    ssim: float,
    padded: list[int],
) -> Case:
    before = Image.fromarray(noise(120, 150, seed))
    after = before.resize(size, Image.Resampling.NEAREST)
    row = {
        "input": [picture(before)],
        "answer": [picture(after)],
        "metadata": {"bbox": box},
    }
    return Case(name, row, ssim, {"ssim": ssim, "padded_box": padded})


def pauses(
    name: str, seconds: tuple[float, ...], value: float, segments: list[int]
) -> Case:
    return Case(
        name,
        {"answer": [sound(alternating(*seconds))]},
        value,
        {"segments": segments},
        SAMPLES,
    )


def fade(
    name: str,
    seconds: float,
    envelope: tuple[float, ...],
    label: list[str],
    value: float,
    *line: Any,
) -> Case:
    row = {
        "answer": [sound(pulses(seconds, envelope))],
        "metadata": {"intensity": label},
    }
    return Case(
        name,
        row,
        value,
        dict(zip(("slope", "stderr", "trend"), line, strict=True)),
        SLOPE,
    )


def rate(name: str, seconds: float, labels: Row, found: float, value: float) -> Case:
    answer = [{"type": "text", "text": "lake " * 20}, sound(tone(seconds))]
    return Case(
        name,
        {"answer": answer, "metadata": labels, "params": {"source": "text"}},
        value,
        {"rate": found},
    )


def pitch(
    name: str, hertz: float, gender: str, label: str, value: float, mel: float
) -> Case:
    row = {
        "answer": [sound(voice(hertz))],
        "metadata": {"pitch": label},
        "params": {"gender": gender},
    }
    return Case(name, row, value, {"mel": mel}, MEL)


OVERFILLED = (0.48484848484848486, 1, 0.5151515151515151, [0, 255, 255])
NEAR_BLACK = (0.8949754155503705, 0.8949754155503705, 0, [14, 15, 15])
PARTIAL = (
    0.37965078351355397,
    0.3805879906363281,
    0.0009372071227741331,
    [181, 130, 32],
)
START = ["start", "fade in"]
OF_WORDS: Mapping[str, Any] = json.loads(
    Path(__file__).with_suffix(".json").read_text("utf-8")
)
"""Cases without media, by metric."""
CASES: Mapping[str, Callable[[], list[Case]]] = {
    "region_fill": lambda: [
        region(
            "exact",
            (96, 128, 1),
            (0.5, 1),
            ((0, 128, 0), 0),
            ("left half", "green"),
            1,
            1,
            0,
            [0, 128, 0],
        ),
        region(
            "overfilled",
            (99, 120, 4),
            (1, 0.5),
            ((0, 255, 255), 0),
            ("upper third", "cyan"),
            *OVERFILLED,
        ),
        region(
            "near black",
            (90, 150, 6),
            (0.33, 1),
            ((15, 15, 15), 4),
            ("left third", "black"),
            *NEAR_BLACK,
        ),
        region(
            "partial",
            (97, 133, 9),
            (0.15, 1),
            ((255, 128, 0), 1),
            ("left quarter", "orange"),
            *PARTIAL,
        ),
    ],
    "border_fill": lambda: [
        border(
            "exact", (120, 120, 21), 0.1, ((0, 0, 255), 0), "blue", 1, 1, 0, [0, 0, 255]
        ),
        border(
            "too thick",
            (120, 120, 24),
            0.2,
            ((255, 128, 0), 0),
            "orange",
            0,
            1,
            1,
            [255, 128, 0],
        ),
        border(
            "near black",
            (121, 133, 27),
            0.1,
            ((12, 9, 14), 3),
            "black",
            *([0.9326246916] * 2),
            0,
            [12, 8, 13],
        ),
    ],
    "edit_outside_ssim": lambda: [
        edit("identical", 31, [40, 30, 90, 80], (150, 120), 1, [25, 18, 105, 92]),
        edit(
            "resized",
            34,
            [10, 10, 60, 60],
            (300, 240),
            0.9831510239090072,
            [0, 0, 75, 72],
        ),
    ],
    "ssim": lambda: [
        Case(
            "same",
            {
                "answer": [picture(noise(96, 96, 41))],
                "target": [picture(noise(96, 96, 41))],
            },
            1,
        )
    ],
    "silence_segments": lambda: [
        pauses("one pause", (1.5, 2.0, 1.5), 1, [34304, 33962]),
        pauses("two pauses", (1.0, 1.5, 1.0, 1.5, 1.0), 0, [23552, 24064, 22732]),
        pauses("a short one, too", (1.0, 0.5, 0.5, 1.6, 1.0), 1, [45568, 22582]),
    ],
    "intensity": lambda: [
        fade(
            "fades in",
            10,
            (0.02, 0.25, 0.5, 0.75, *[1] * 7),
            START,
            1,
            0.206876537,
            0.036558727,
            "fade in",
        ),
        fade("flat", 10, (1, 1), START, 0, -0.076981755, 0.044283072, "<none>"),
        fade(
            "hump",
            12,
            (0.1, 1) * 3 + (0.1,),
            ["end", "fade out"],
            0,
            -0.016035083,
            0.061531396,
            "<none>",
        ),
    ],
    "speech_rate": lambda: [
        rate("fast", 6, {"speed": "high"}, 200, 1),
        rate("nothing asked", 9, {}, 133.33333333333334, 1),
    ],
    "pitch_band": lambda: [
        pitch(
            "a man's low voice",
            110,
            "male",
            "low",
            0.41667679208895386,
            164.49957473226394,
        ),
        pitch(
            "a woman's high voice",
            180,
            "female",
            "high",
            0.5215016009558697,
            257.9030672401465,
        ),
    ],
}


def written(value: Any, folder: Path, name: str) -> Any:
    """A row for a cases file, its media in files beside it."""
    if isinstance(value, Mapping):
        return {
            key: written(item, folder, f"{name}-{key}") for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [written(item, folder, f"{name}-{at}") for at, item in enumerate(value)]
    if isinstance(value, (str, int, float)):
        return value
    (folder / name).write_bytes(value.read())
    return name


@pytest.mark.parametrize("metric", [*CASES, *OF_WORDS])
def test_released_values_are_reproduced(
    metric: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = (
        CASES[metric]()
        if metric in CASES
        else [Case(**case) for case in OF_WORDS[metric]]
    )
    rows = [
        {"name": case.name, **written(case.row, tmp_path, str(at))}
        for at, case in enumerate(cases)
    ]
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code = main(
        ["try", "metric", metric, "--cases", str(file), "--profile", "official"]
    )
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (code, [row["name"] for row in found]) == (0, [case.name for case in cases])
    for row, case in zip(found, cases, strict=True):
        assert row["value"] == pytest.approx(
            case.value, abs=MEL / 42 if metric == "pitch_band" else SCORE
        ), case.name
        for key, wanted in case.evidence.items():
            assert row["evidence"][key] == pytest.approx(wanted, abs=case.tolerance), (
                case.name,
                key,
            )
