"""Bad input: whatever a model or a judge delivers, each of the 49 tasks has a score in
its range, or a reason for none.

An answer begins as the right one to a task's first bundled sample; its media are
replaced by bad ones. The models of metrics are tiny random ones.
"""

import io
import math
import re
import wave
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mmeval.dataset.bad_sample import rows_of
from mmeval.media import Interleaved, Media, Part, media_part, png, text_part
from mmeval.metric.apply import score_derived, score_judged
from mmeval.metric.bound import BoundMetric
from mmeval.metric.scoring.trial_rows import score_trials
from mmeval.program.calls import Call, Reply, Role
from mmeval.records import Score, Trial
from mmeval.run.task_run import scoring_plan
from mmeval.task.selection import select
from mmeval.task.task import Task, TaskOverrides
from tests.support import pictures, sounds
from tests.support.models import weights_folder
from tests.support.shipped_tasks import TASKS, answered_by
from tests.support.sounds import RATE, tone, voice
from tests.support.toy import reply

NAMES = [counted.task for counted in TASKS]
SPOKEN = [counted.task for counted in TASKS if counted.id.startswith("a_")]
SHOWN = [name for name in NAMES if name not in SPOKEN]
ORDERS = ("mmmg_image_text_order", "mmmg_audio_text_order")
"""Tasks that count parts and look at none."""
THE_LAST_COUNTS = ("mmmg_interleaved_math", "mmmg_interleaved_code")
"""Tasks that allow any number of pictures."""


@pytest.fixture(scope="module", autouse=True)
def _models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("weights")
    weights_folder(folder / "models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MMEVAL_WEIGHTS_DIR", str(folder / "models"))
        patch.setenv("MMEVAL_CACHE_DIR", str(folder / "cache"))
        tasks(), tasks("official")
        yield
    tasks.cache_clear()


@cache
def tasks(profile: str = "") -> Mapping[str, Task]:
    """All tasks as a run with both judges has them."""
    overrides = TaskOverrides(data="bundled", profile=profile)
    return {
        task.name: task
        for task in select(
            ["mmmg"], overrides=overrides, roles=frozenset(("judge", "gemini"))
        )
    }


@cache
def right(name: str) -> Trial:
    """An answer to the first sample of a task that begins as a right one: its
    reference, or as many sounds as asked."""
    task = tasks()[name]
    sample = next(rows_of(task.dataset()))
    if name in SPOKEN and name not in ORDERS:
        count = len(sample.metadata["order"]) if name == "mmmg_conversation" else 1
        return Trial(
            sample,
            output=Interleaved(
                tuple(media_part(sounds.sound(voice(130))) for _ in range(count))
            ),
        )
    return answered_by("reference", task, sample)


def answered(name: str, *parts: Part) -> Trial:
    return Trial(right(name).sample, output=Interleaved(parts))


def with_media(name: str, medium: Media) -> Trial:
    """The right answer with this medium in the place of each of its own."""
    output = right(name).output
    assert output is not None
    return answered(
        name,
        *(part if part.media is None else media_part(medium) for part in output.parts),
    )


def scores(trial: Trial, task: Task, says: str = "yes") -> dict[str, Score]:
    """The scores of all metrics of a task, the derived ones last; every judge gives the
    same reply to everything."""
    assert [metric.unavailable for metric in task.metrics if metric.unavailable] == []
    plan = scoring_plan(task, Path())
    plain = [
        m.bound
        for m in task.metrics
        if not (m.bound.metric.judged or m.bound.metric.derived)
    ]
    found = score_trials([trial], plan, plain)[0]
    for metric in task.metrics:
        if metric.bound.metric.judged and metric.bound.name not in found:
            found.update(verdict(trial, metric.bound, says))
    for metric in task.metrics:
        if metric.bound.metric.derived:
            found.update(score_derived(metric.bound, found))
    return found


def verdict(trial: Trial, bound: BoundMetric, says: str) -> Mapping[str, Score]:
    program = score_judged(bound, trial, Role)
    sent: Any = None
    try:
        while True:
            step = program.send(sent)
            sent = (
                Reply(reply(says))
                if isinstance(step, Call)
                else [Reply(reply(says)) for _ in step]
            )
    except StopIteration as done:
        found: Mapping[str, Score] = done.value
        return found


def check(found: Mapping[str, Score], task: Task) -> None:
    """Every output of the task has a value in its range, or a reason in words."""
    assert set(found) == {
        name for metric in task.metrics for name in metric.bound.metric.outputs
    }
    for metric in task.metrics:
        low, high = metric.bound.metric.range
        for name in metric.bound.metric.outputs:
            score = found[name]
            if score.value is None:
                assert len(score.reason.split()) > 3, (name, score)
                assert not re.search(r" \(\S+\.py:\d+\)|\bat \S+\.py", score.reason), (
                    name,
                    score,
                )
            else:
                assert math.isfinite(score.value), (name, score)
                assert low - 1e-6 <= score.value <= high + 1e-6, (name, score)


def raw_wav(samples: np.ndarray[Any, Any], rate: int, channels: int = 1) -> Media:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((channels, 2, rate, 0, "NONE", ""))
        sound.writeframes((samples * 32767).astype("<i2").tobytes())
    return Media.from_bytes(file.getvalue())


def float_wav(samples: np.ndarray[Any, Any]) -> Media:
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, samples, RATE, format="WAV", subtype="FLOAT")
    return Media.from_bytes(file.getvalue())


def twenty_minutes() -> Media:
    return raw_wav(np.resize(voice(130, 3.0), 20 * 60 * RATE), RATE)


def transparent() -> Media:
    pixels = np.dstack(
        [pictures.noise(64, 64), np.resize(np.arange(256, dtype=np.uint8), (64, 64))]
    )
    return png(Image.fromarray(pixels, "RGBA"))


def sixteen_bits() -> Media:
    return png(
        Image.fromarray(np.arange(64 * 64, dtype=np.uint16).reshape(64, 64) * 16)
    )


WRONG: Mapping[str, Callable[[], Media]] = {
    "damaged picture": lambda: pictures.DAMAGED,
    "a sound": lambda: sounds.sound(tone(0.5)),
    "damaged sound": lambda: sounds.DAMAGED,
    "a picture": lambda: pictures.medium(pictures.noise(16, 16)),
    "0 s": lambda: raw_wav(np.zeros(0), RATE),
    "NaN": lambda: float_wav(np.full(RATE, np.nan)),
}
ODD: Mapping[str, Callable[[], Media]] = {
    "RGBA": transparent,
    "16 bits": sixteen_bits,
    "one pixel": lambda: pictures.medium(pictures.even(1, 1, (255, 0, 0))),
    "one sample": lambda: raw_wav(np.ones(1), RATE),
    "0.3 s": lambda: sounds.sound(voice(130, 0.3)),
    "silence": lambda: raw_wav(np.zeros(RATE), RATE),
    "8 kHz stereo": lambda: raw_wav(
        np.repeat(np.resize(voice(130), 8000), 2), 8000, channels=2
    ),
}
OF_PICTURES = ("damaged picture", "a sound", "RGBA", "16 bits", "one pixel")


def bad(
    name: str, media: Mapping[str, Callable[[], Media]]
) -> Mapping[str, Callable[[], Media]]:
    """Those of the media that stand in the place of what a task asks for."""
    return {
        kind: make
        for kind, make in media.items()
        if (kind in OF_PICTURES) == (name in SHOWN)
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_whose_media_are_none_is_wrong(name: str) -> None:
    for kind, make in bad(name, WRONG).items():
        found = scores(with_media(name, make()), tasks()[name])
        check(found, tasks()[name])
        counted = name in ORDERS and kind not in ("a sound", "a picture")
        assert (kind, found["overall"].value) == (kind, 1.0 if counted else 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_odd_media_have_a_score(name: str) -> None:
    longest = {"20 minutes": twenty_minutes} if name in SPOKEN else {}
    for kind, make in {**bad(name, ODD), **longest}.items():
        found = scores(with_media(name, make()), tasks()[name])
        check(found, tasks()[name])
        without = {metric for metric, score in found.items() if score.value is None}
        assert (
            kind,
            without - asked(tasks()[name]) - ({"overall"} if name in SHOWN else set()),
        ) == (kind, set())


def asked(task: Task) -> set[str]:
    """The outputs of judged metrics, which stay unscored when a judge is not
    understood."""
    return {
        name
        for metric in task.metrics
        if metric.bound.metric.judged
        for name in metric.bound.metric.outputs
    }


@pytest.mark.parametrize("name", NAMES)
def test_without_media_an_answer_is_wrong_and_with_bad_ones_it_has_a_score_in_the_official_profile(
    name: str,
) -> None:
    nothing = answered(name, text_part("I cannot do that."))
    official = tasks("official")[name]
    found = scores(nothing, tasks()[name])
    check(found, tasks()[name])
    assert found["overall"].value == 0
    for trial in (
        nothing,
        *(with_media(name, make()) for make in bad(name, {**WRONG, **ODD}).values()),
    ):
        check(scores(trial, official), official)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in THE_LAST_COUNTS]
)
def test_an_answer_with_too_many_media_is_wrong(name: str) -> None:
    output = right(name).output
    assert output is not None
    more = [
        media_part(part.media) for part in output.parts if part.media is not None
    ] * 2
    found = scores(answered(name, *output.parts, *more), tasks()[name])
    check(found, tasks()[name])
    assert found["overall"].value == 0


PROSE = (
    "There are several things in the picture. Some of them may be what is asked "
    "about, and others are not. " * 40
)
REPLIES = {
    "empty": "",
    "blank": " \n\t",
    "Chinese": "是的，图中有三个红色的圆。",
    "quoted": '"Yes"',
    "quoted letter": "'B'",
    "prose": PROSE,
    "half an object": '{"reason": "so", "answer":',
    "no number": '{"answer": NaN}',
    "nested": '{"answer": {"answer": ["yes"]}}',
    "control characters": "\x00\x1b[31mYes\u202e",
    "very long": "yes " * 100_000,
}


@pytest.mark.parametrize("profile", ["", "official"])
@pytest.mark.parametrize("says", REPLIES)
def test_any_reply_of_judges_leads_to_a_score_or_a_reason(
    says: str, profile: str
) -> None:
    judged = [task for task in tasks(profile).values() if asked(task)]
    assert len(judged) == 27
    for task in judged:
        metrics = [
            metric.bound for metric in task.metrics if metric.bound.metric.judged
        ]
        for bound in metrics:
            found = verdict(right(task.name), bound, REPLIES[says])
            for score in found.values():
                assert score.value is not None or len(score.reason.split()) > 3, (
                    task.name,
                    score,
                )
                assert score.value is None or 0 <= score.value <= 1, (task.name, score)
                assert score.reason or profile or score.value in (0, 1), (
                    task.name,
                    score,
                )
