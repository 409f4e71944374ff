"""What reading UniM's data costs at their full size: seconds to the first sample and to
the first request, memory.

The data are made: 31,026 records over thirty domains in the hub's layout, in files by
combination, with the captions, and with a file of its own for each of 93,078 media (a
few pictures and sounds under many names). Each figure is that of a process of its own.
The first request is that of ``mmeval run`` on the hard samples, timed from the start of
the process to the arrival at a server.
"""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring import Figure, Fresh, high_water, processor_seconds
from mmeval.dataset.contract import DataSource
from mmeval.tasks.unim.domains import DOMAINS, Domain
from mmeval.tasks.unim.loader import load
from tests.support.pictures import framed, medium, noise
from tests.support.scripted_server import ScriptedServer, saying

FIRST_SAMPLE, FIRST_REQUEST, WHOLE, MEMORY = 1.0, 2.0, 60.0, 300.0
"""Goals: seconds, and MiB."""
ORIGINALS = 16
"""Different pictures, and as many different sounds."""
LIMIT = 200
COMBINATIONS = ("image_audio", "image&audio_image", "audio_image", "audio_image&audio")
WORDS = "what is to be seen, and what is to be heard? " * 12


# --- the data -------------------------------------------------------------------------


def make(folder: Path) -> None:
    """Write the whole data set."""
    chance = random.Random(1)
    originals = _originals(folder / "originals")
    for domain in DOMAINS:
        place = f"{domain.field}/{domain.number}_{domain.name}"
        rows = list(_rows(domain, chance))
        media = folder / "data" / domain.field / domain.name
        for kind in originals:
            (media / kind).mkdir(parents=True)
        for part, name in enumerate(COMBINATIONS):
            mine = rows[part :: len(COMBINATIONS)]
            _write(folder / "qapairs_placeholder" / place / f"{name}.jsonl", mine)
            _write(
                folder / "qapairs_caption" / place / f"{name}.jsonl",
                map(_captioned, mine),
            )
        for row in rows:
            for path in (
                *row["input"]["modal"].values(),
                *row["output"]["modal"].values(),
            ):
                kind = path.partition("/")[0]
                os.link(chance.choice(originals[kind]), media / path)


def _originals(folder: Path) -> dict[str, list[Path]]:
    folder.mkdir(parents=True)
    found: dict[str, list[Path]] = {"image": [], "audio": []}
    for at in range(ORIGINALS):
        found["image"].append(folder / f"{at}.png")
        found["image"][-1].write_bytes(
            medium(framed(noise(32, 32, at), 4, 4, (0, 0, 255))).read()
        )
        found["audio"].append(folder / f"{at}.wav")
        found["audio"][-1].write_bytes(_sound(at))
    return found


def _sound(at: int) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes([at, 0]) * 800)
    return out.getvalue()


def _rows(domain: Domain, chance: random.Random) -> Iterator[dict[str, Any]]:
    levels = [
        level
        for level, count in enumerate(domain.counts, start=1)
        for _ in range(count)
    ]
    chance.shuffle(levels)
    for number, level in enumerate(levels):
        given = {
            "image1": f"image/img_{number:04}_01.png",
            "audio1": f"audio/aud_{number:04}_01.wav",
        }
        yield {
            "domain": domain.field,
            "subdomain": domain.name,
            "id": str(number),
            "difficulty_level": level,
            "input": {
                "modal": given,
                "content": f"Question {number}: <image1> {WORDS} <audio1> {WORDS}",
            },
            "output": {
                "modal": {"image2": f"image/img_{number:04}_02.png"},
                "content": f"Answer {number}: {WORDS} <image2>",
            },
        }


def _captioned(row: dict[str, Any]) -> dict[str, Any]:
    sides = {
        side: {**row[side], "content": row[side]["content"].replace(">", f": {WORDS}>")}
        for side in _SIDES
    }
    return {**row, **sides}


_SIDES = ("input", "output")


def _write(path: Path, rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row, indent=4) for row in rows))


# --- the figures ----------------------------------------------------------------------


def figures(quick: bool) -> Iterator[Figure]:
    """The same with ``quick``: nearly all the time goes into the making of the data."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        found = Fresh("benchmarks.runs.unim_data:read", name).result()
        total = sum(domain.total for domain in DOMAINS)
        if not found["size"] == found["sound"] == total:
            raise RuntimeError(f"{found} of {total} samples")
        yield Figure(
            "size, fingerprint and first sample",
            found["first"],
            FIRST_SAMPLE,
            " s of CPU",
        )
        yield Figure(f"all {total:,} samples", found["whole"], WHOLE, " s of CPU")
        yield Figure("peak memory", found["peak"], MEMORY, " MiB")
        for tasks in ("unim_hard", "unim"):
            yield first_request(folder, tasks)


def read(folder: str) -> dict[str, float]:
    """Seconds of CPU to the size and the first sample, and to the last; the peak memory
    in MiB."""
    began = time.process_time()
    dataset = load(DataSource("unim", Path(folder), ""))
    size, _ = len(dataset), dataset.fingerprint
    count = first = 0.0
    for sample in dataset:
        first = first or time.process_time() - began
        count += not sample.fault
    whole = time.process_time() - began
    return {
        "size": size,
        "sound": count,
        "first": first,
        "whole": whole,
        "peak": high_water(),
    }


def first_request(folder: Path, tasks: str) -> Figure:
    """Seconds of CPU that ``mmeval run`` takes to the arrival of its first request."""
    with (
        tempfile.TemporaryDirectory() as out,
        ScriptedServer(saying(content="none")) as server,
    ):
        words = [
            "--tasks",
            tasks,
            "--data_dir",
            str(folder),
            "--limit",
            str(LIMIT),
            "--output_path",
            out,
        ]
        words += [
            "--model",
            "openai",
            "--model_args",
            f"model=m,base_url={server.url},outputs=text",
        ]
        env = {**os.environ, "OPENAI_API_KEY": "bench", "HF_HUB_OFFLINE": "1"}
        with subprocess.Popen(
            [sys.executable, "-m", "mmeval", *words], cwd=out, env=env, **_QUIET
        ) as process:
            while not server.seen and process.poll() is None:
                time.sleep(0.005)
            seconds = processor_seconds(process.pid)
            process.terminate()
        if not server.seen:
            raise RuntimeError(f"no request came: {' '.join(words)}")
    return Figure(f"first request of {tasks}", seconds, FIRST_REQUEST, " s of CPU")


_QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
