"""What it costs to list many task files, to find one of them by name, and to do so for
the first time.

5,000 files in folders of a hundred, every second with an include. A figure is the CPU
of a whole command beyond that of the same with one of these files, as a ratio to
parsing them by libyaml in this process: both move with the load.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

from benchmarks.measuring import Figure, busy, measure

OWN = """\
task: {name}
tag: [many, tag_{tag}]
dataset_path: data
generation_kwargs: {{temperature: 0.0, max_gen_toks: 64}}
metric_list:
  - metric: exact_match
metadata: {{version: 1.0, license: MIT}}
"""


def figures(quick: bool) -> Iterator[Figure]:
    count, turns = (500, 1) if quick else (5_000, 3)
    with tempfile.TemporaryDirectory() as folder:
        yield from _figures(Path(folder), count, turns)


def _figures(place: Path, count: int, turns: int) -> Iterator[Figure]:
    files = list(_write(place / "tasks", count))
    (place / "one").mkdir()
    shutil.copy(files[42], place / "one")
    time.sleep(2.5)  # a file that has just changed is not kept

    def cost(*words: str, cache: str) -> float:
        """Microseconds of CPU a file."""
        command = [
            "env",
            f"MMEVAL_CACHE_DIR={place / cache}",
            sys.executable,
            "-m",
            "mmeval",
            *words,
            "--include_path",
        ]
        cpu = [
            measure([*command, str(place / folder)]).cpu for folder in ("tasks", "one")
        ]
        return 1e6 * (cpu[0] - cpu[1]) / count

    def parsed() -> float:
        return (
            1e6
            * busy(
                lambda: [
                    yaml.load(file.read_bytes(), yaml.CSafeLoader) for file in files
                ]
            )
            / count
        )

    cost("ls", "tasks", cache="warm")
    for name, words, cache, goal in (
        ("all again", ["ls", "tasks"], "warm", 0.5),
        ("one by its name again", ["ls", "tasks", "t_42"], "warm", 0.5),
        ("all for the first time", ["ls", "tasks"], "cold-{}", 6.0),
    ):
        found = [
            (cost(*words, cache=cache.format(turn)), parsed()) for turn in range(turns)
        ]
        ratio = statistics.median(ours / yaml for ours, yaml in found)
        own = statistics.median(f[0] for f in found)
        note = f"{own:.0f} us of CPU a task"
        yield Figure(
            f"listing {count:,} task files to parsing them, {name}",
            ratio,
            goal,
            "x",
            note=note,
        )


def _write(folder: Path, count: int) -> Iterator[Path]:
    for number in range(count):
        file = folder / f"{number // 100}" / f"t_{number}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        (file.parent / "_base.yaml").write_text("output_modalities: [text]\n")
        include = "include: _base.yaml\n" if number % 2 else ""
        file.write_text(include + OWN.format(name=f"t_{number}", tag=number % 7))
        yield file
