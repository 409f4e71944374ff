"""What the metrics without a model cost that score MMMG's answers: two processes
against one, memory, first calls.

Seven in ten answers are a picture of 1024 x 1024, the others a sound of ten seconds, as
in MMMG; all have words, too. Each answer, and each sample's picture, is a file of its
own (a few pictures and sounds under many names), so that each has to be read and
decoded. The answers come as a run delivers them: the repeats of a sample one after the
other. One process and two score the same answers, in turns, each time begun anew. On a
machine that others use, too, the wall clock says little; processor time then says how
evenly two processes share the work.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import Figure, Fresh, high_water, processor_seconds
from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, media_part, text_part
from mmeval.decode import picture as picture_decoder
from mmeval.decode.av import sound as sound_decoder
from mmeval.metric.apply import score_one
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.records.sample import Sample, user
from mmeval.scoring.scorer import Scorer
from mmeval.scoring.trial_rows import ScoringPlan, trial_from
from mmeval.system.json_lines import to_line

ROWS, REPEATS = 937, 4
SIDE, SECONDS = 1024, 10.0
SOUNDS_OF_TEN = (2, 5, 8)
"""Which samples of ten are answered with sounds; 262 of 937 is close to that."""
METRICS: Sequence[Sequence[tuple[str, dict[str, Any]]]] = (
    (("region_fill", {}), ("border_fill", {}), ("edit_outside_ssim", {}), ("ssim", {})),
    (
        ("silence_segments", {}),
        ("intensity", {}),
        ("pitch_band", {"gender": "male"}),
        ("speech_rate", {"source": "text"}),
    ),
)
"""Of answers with pictures, and of those with sounds."""
OF_WORDS: Sequence[tuple[str, dict[str, Any]]] = (
    ("part_order", {}),
    ("text_constraints", {}),
    ("word_accuracy", {"target_key": "wanted"}),
)
LABELS = {
    "region": "left half",
    "color": "blue",
    "bbox": [300, 300, 500, 450],
    "intensity": ["start", "fade in"],
    "pitch": "low",
    "speed": "high",
    "order": ["ti", "ta"],
    "constraint": [["keyword_include", "one"], ["keyword_exclude", "nine"]],
    "wanted": "one two three four",
}
WORKERS_GOAL, GROWTH_GOAL, FIRST_GOAL = 1.7, 16.0, 2.0
"""Times as fast, MiB of a process, seconds."""


# --- the answers ----------------------------------------------------------------------


class Answers:
    """Answers as the lines that scoring processes are sent, and the files that they
    name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pictures, self._sounds = folder / "pictures", folder / "sounds"

    def make(self) -> None:
        """Write the few pictures and sounds."""
        from tests.support.pictures import framed, medium, noise
        from tests.support.sounds import voice

        for place in (self._pictures, self._sounds, self._folder / "named"):
            place.mkdir()
        for at in range(6):
            drawn = framed(
                noise(SIDE, SIDE, at + 1), SIDE // 10, SIDE // 10, (0, 0, 255)
            )
            (self._pictures / f"{at}.png").write_bytes(medium(drawn).read())
        from tests.support.hearing import sound

        for at in range(4):
            (self._sounds / f"{at}.wav").write_bytes(
                sound(voice(100 + 10 * at, SECONDS)).read()
            )

    def lines(self, count: int) -> Iterator[tuple[int, bytes]]:
        """The position of the plan, and the line of a trial."""
        for at in range(count):
            index, repeat = divmod(at, REPEATS)
            position = int(index % 10 in SOUNDS_OF_TEN)
            yield position, to_line(self._row(index, repeat, position))

    def _row(self, index: int, repeat: int, position: int) -> dict[str, Any]:
        number = REPEATS * index + repeat
        made = media_part(self._medium(position == 0, f"answer-{number}", number))
        return {
            "i": index,
            "n": repeat,
            "d": f"{number:064x}",
            "sample": self._sample(index, with_pictures=position == 0).to_json(),
            "exchanges": [],
            "output": Interleaved((text_part("One two three five."), made)).to_json(),
        }

    def _sample(self, index: int, *, with_pictures: bool) -> Sample:
        if not with_pictures:
            return Sample(f"s{index}", (user("speak"),), (), LABELS)
        given, wanted = (
            self._medium(True, f"{name}-{index}", index + at)
            for at, name in enumerate(("given", "wanted"))
        )
        return Sample(
            f"s{index}",
            (user("draw", media_part(given)),),
            (Interleaved((media_part(wanted),)),),
            LABELS,
        )

    def _medium(self, is_picture: bool, name: str, number: int) -> Media:
        """One of the few, as a file of its own name."""
        folder = self._pictures if is_picture else self._sounds
        files = sorted(folder.iterdir())
        file = files[number % len(files)]
        named = self._folder / "named" / f"{name}{file.suffix}"
        if not named.exists():
            os.link(file, named)
        return Media.from_path(named)


def plans(folder: Path) -> list[ScoringPlan]:
    return [
        _plan(f"bench{at}", [*metrics, *OF_WORDS], folder)
        for at, metrics in enumerate(METRICS)
    ]


def _plan(
    task: str, metrics: Sequence[tuple[str, dict[str, Any]]], folder: Path
) -> ScoringPlan:
    bound = [bind(load_metric(name), switches) for name, switches in metrics]
    return ScoringPlan(
        task=task,
        metrics=tuple((one.name, one.params, one.profile) for one in bound),
        unavailable={},
        missing_output=0.0,
        labels=(),
        cluster_key="",
        media_root=folder,
        batch=max(one.at_once for one in bound),
    )


# --- one measurement, in a process of its own -----------------------------------------


class Decodings:
    """Counts, over all processes that are forked from this one, the media that were
    decoded."""

    def __init__(self) -> None:
        self._all = multiprocessing.Value(ctypes.c_long, 0)
        self._again = multiprocessing.Value(ctypes.c_long, 0)
        self._seen: Counter[tuple[int, Path | None]] = Counter()

    def watch(self, decoder: Any) -> None:
        """Watch a module that decodes: it reads a medium's bytes once, whenever it
        decodes it."""
        read = decoder.whole_bytes

        def noted(media: Media, *args: Any) -> bytes:
            key = (os.getpid(), media.path)
            self._seen[key] += 1
            for value in (self._all, *([self._again] if self._seen[key] > 1 else [])):
                with value.get_lock():
                    value.value += 1
            data: bytes = read(media, *args)
            return data

        decoder.whole_bytes = noted

    def found(self) -> dict[str, int]:
        return {"decoded": self._all.value, "again": self._again.value}


def measured(folder: str, workers: int, count: int) -> dict[str, Any]:
    """Seconds, peak memory of the scoring processes at a quarter and at the end, and
    how much was decoded."""
    decodings = Decodings()
    decodings.watch(picture_decoder)
    decodings.watch(sound_decoder)
    done, unscored = 0, 0
    peaks: list[float] = []

    def deliver(position: int, rows: bytes) -> None:
        nonlocal done, unscored
        done += rows.count(b"\n")
        unscored += rows.count(b'"unscored"')
        if not peaks and done >= count / 4:
            peaks.append(_peak())

    async def score() -> float:
        started = time.perf_counter()
        for position, line in lines:
            await scorer.add(position, line)
        await scorer.drain()
        return time.perf_counter() - started

    lines = list(Answers(Path(folder)).lines(count))
    scorer = Scorer(plans(Path(folder)), workers, deliver)
    scorer.start()
    seconds = asyncio.run(score())
    peaks.append(_peak())
    busy = [processor_seconds(process) for process in _children()]
    scorer.close()
    return {
        "seconds": seconds,
        "busy": busy,
        "peaks": peaks,
        "scored": done,
        "unscored": unscored,
        **decodings.found(),
    }


def _children() -> list[str]:
    """The processes below this one."""
    return [
        one
        for file in Path("/proc/self/task").glob("*/children")
        for one in file.read_text().split()
    ]


def _peak() -> float:
    """MiB of the largest of them."""
    return max(map(high_water, _children()), default=0.0)


def first_call(folder: str, name: str) -> float:
    """Seconds of the processor of a metric's first call, its imports included."""
    position, switches = next(
        (at, switches)
        for at, metrics in enumerate(METRICS)
        for one, switches in (*metrics, *OF_WORDS)
        if one == name
    )
    line = next(line for at, line in Answers(Path(folder)).lines(40) if at == position)
    trial = trial_from(json.loads(line), Path(folder))
    started = time.process_time()
    scores = score_one(bind(load_metric(name), switches), trial)
    taken = time.process_time() - started
    if any(score.value is None for score in scores.values()):
        raise RuntimeError(f"{name}: {scores}")
    return taken


# --- all of them ----------------------------------------------------------------------


def figures(quick: bool) -> Iterator[Figure]:
    count = 200 if quick else ROWS * REPEATS
    with tempfile.TemporaryDirectory() as folder:
        Answers(Path(folder)).make()
        found = {}
        for workers in (1, 2):
            found[workers] = Fresh(
                "benchmarks.metrics.mmmg:measured", folder, workers, count
            ).result()
            print(f"  {workers} workers: {found[workers]}", file=sys.stderr, flush=True)
            if found[workers]["scored"] != count or found[workers]["unscored"]:
                raise RuntimeError(
                    f"of {count} answers not all are scored: {found[workers]}"
                )
        faster = found[1]["seconds"] / found[2]["seconds"]
        rate = f"{count / found[1]['seconds']:.1f} answers a second"
        yield Figure(
            "two processes against one by the clock", faster, unit=" times", note=rate
        )
        shared = max(found[1]["busy"]) / max(found[2]["busy"])
        yield Figure(
            "the one to the busier of two by processor time",
            shared,
            WORKERS_GOAL,
            " times",
            at_least=True,
        )
        for workers, one in found.items():
            early, late = one["peaks"]
            name = f"growth of a process among {workers} after a quarter"
            yield Figure(
                name, late - early, GROWTH_GOAL, " MiB", note=f"of {late:.0f} MiB"
            )
        again = f"of {found[1]['decoded']}"
        yield Figure(
            "media decoded twice in a process", found[1]["again"], 0, note=again
        )
        for name in sorted(
            {name for metrics in (*METRICS, OF_WORDS) for name, _ in metrics}
        ):
            taken = Fresh("benchmarks.metrics.mmmg:first_call", folder, name).result()
            yield Figure(f"first call of {name}", taken, FIRST_GOAL, " s of CPU")
