"""How fast and how small a run with a local model is, as ratios to a bare loop over
``model.generate``.

Both programs are whole processes, run in turns; a ratio is the median of the paired
runs. The rate is that of the answers after the first batch, so that neither start nor
loading counts: by the journal's own times, and by the bare loop's clock. The model is
tiny and random, so what a run costs besides the model weighs as much as it ever can;
``MMEVAL_BENCH_MODEL="FOLDER cuda bfloat16"`` measures the same with another, on another
device.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import ROOT, Figure, measure
from tests.support.models import tiny_model

BARE = Path(__file__).with_name("bare_local.py")
BATCH, TOKENS = 16, 256
WORDS = (
    "what is in the picture that was drawn last and how many of them are there in all "
)

TASK = """\
task: {name}
loader: interleaved
dataset_path: {name}
protocol: {protocol}
metadata: {{version: 1.0}}
generation_kwargs: {{temperature: 0, max_gen_toks: {tokens}}}
metric_list:
  - metric: exact_match
"""


@dataclass(frozen=True)
class Model:
    """Which model is measured, and where it runs."""

    folder: Path
    dtype: str = "float32"
    device: str = "cpu"


def figures(quick: bool) -> Iterator[Figure]:
    count, pairs = (64, 1) if quick else (320, 3)
    words = os.environ.get("MMEVAL_BENCH_MODEL", "").split()
    folder, device, dtype = [
        *words,
        *(str(tiny_model("llm")), "cpu", "float32")[len(words) :],
    ]
    with tempfile.TemporaryDirectory() as name:
        yield from LocalBench(
            Path(name), Model(Path(folder), dtype, device), pairs=pairs
        ).figures(count, 64)


class LocalBench:
    """Measures in one folder."""

    words, tokens = WORDS, TOKENS
    """What a turn asks, and how long its answer is."""

    def __init__(self, folder: Path, model: Model, *, pairs: int) -> None:
        self._folder, self._model, self._pairs, self._runs = folder, model, pairs, 0
        self._env = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }

    def figures(self, count: int, trials: int) -> Iterator[Figure]:
        yield Figure(
            f"rows against the bare loop, batches of {BATCH}",
            self._ratio(count, 1),
            0.9,
            at_least=True,
        )
        yield Figure(
            f"{trials} trials of three dependent calls",
            self._ratio(trials, 3),
            0.8,
            at_least=True,
        )
        if self._model.device == "cpu":  # an accelerator may be the only one
            yield Figure(
                "two workers against one, a thread each",
                self._workers(count),
                1.7,
                "x",
                at_least=True,
            )
        yield Figure(
            "growth of memory a sample beyond the bare loop's",
            self._growth(count),
            0.5,
            " KiB",
        )

    def _ratio(self, count: int, turns: int) -> float:
        name = self._task(count, turns)
        found = []
        for _ in range(self._pairs):
            bare = self._bare_rate(name)
            ours = self._rate(self._run(name, "--batch_size", str(BATCH)), skip=BATCH)
            print(
                f"  {count} rows, {turns} turns: bare {bare:.1f}/s, mmeval "
                f"{ours:.1f}/s",
                file=sys.stderr,
            )
            found.append(ours / bare)
        return statistics.median(found)

    def _workers(self, count: int) -> float:
        """Each process has one thread, so that two of them have two cores to win."""
        name = self._task(2 * count, 1)
        found = []
        for _ in range(self._pairs):
            rates = []
            for workers in (1, 2):
                folder = self._run(
                    name, "--batch_size", str(BATCH), workers=workers, threads=1
                )
                rates.append(self._rate(folder, skip=workers * BATCH))
            print(
                f"  one worker {rates[0]:.1f}/s, two {rates[1]:.1f}/s", file=sys.stderr
            )
            found.append(rates[1] / rates[0])
        return statistics.median(found)

    def _growth(self, count: int) -> float:
        """KiB of private memory that a further sample takes beyond what it takes in the
        bare loop."""
        sizes = []
        for size in (count, 4 * count):
            name = self._task(size, 1, tokens=4)
            ours = measure(
                self._command(name, self._output(), "--batch_size", str(BATCH)),
                memory=True,
            ).private
            sizes.append(
                (ours, measure(self._bare(name, tokens=4), memory=True).private)
            )
        print(f"  private memory, and the bare loop's: {sizes} MiB", file=sys.stderr)
        (few, bare_few), (many, bare_many) = sizes
        return 1024 * (many - few - (bare_many - bare_few)) / (3 * count)

    def _task(self, count: int, turns: int, *, tokens: int | None = None) -> str:
        """A task of ``count`` samples; returns its name."""
        tokens = tokens or self.tokens
        name = f"rows{count}x{turns}x{tokens}"
        folder = self._folder / name
        if folder.is_dir():
            return name
        folder.mkdir()
        protocol = "episode" if turns > 1 else "single"
        (self._folder / f"{name}.yaml").write_text(
            TASK.format(name=name, protocol=protocol, tokens=tokens)
        )
        with (
            (folder / "test.jsonl").open("w") as ours,
            (folder / "bare.jsonl").open("w") as bare,
        ):
            for row in range(count):
                asked = [f"{row} {turn}: {self.words}" for turn in range(turns)]
                messages = [{"role": "user", "content": words} for words in asked]
                ours.write(
                    json.dumps({"id": str(row), "input": messages, "reference": "none"})
                    + "\n"
                )
                bare.write(json.dumps({"turns": asked}) + "\n")
        (folder / "bare.jsonl").rename(self._folder / f"{name}.jsonl")
        return name

    def _output(self) -> Path:
        self._runs += 1
        return self._folder / f"run{self._runs}"

    def _command(
        self, name: str, output: Path, *flags: str, workers: int = 1
    ) -> list[str]:
        model = self._model
        arguments = f"pretrained={model.folder},dtype={model.dtype}"
        placed = (
            f",device={model.device}"
            if workers == 1
            else f",data_parallel_size={workers}"
        )
        return [
            sys.executable,
            "-m",
            "mmeval",
            "--tasks",
            str(self._folder / f"{name}.yaml"),
            "--model",
            "hf",
            "--model_args",
            arguments + placed,
            "--output_path",
            str(output),
            *flags,
        ]

    def _run(self, name: str, *flags: str, workers: int = 1, threads: int = 0) -> Path:
        output = self._output()
        env = self._env | (
            {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
            if threads
            else {}
        )
        done = subprocess.run(
            self._command(name, output, *flags, workers=workers),
            env=env,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"mmeval ended with {done.returncode}: {done.stderr}")
        return output

    def _rate(self, output: Path, *, skip: int) -> float:
        """Answers a second after the first ones, by the journal's times."""
        lines = (
            json.loads(line)
            for segment in output.rglob("journal/*.jsonl")
            for line in segment.open()
        )
        # an agent's answer is no call
        times = sorted(line["t"] for line in lines if line["to"])
        seconds: float = times[-1] - times[skip - 1]
        return (len(times) - skip) / seconds

    def _bare(self, name: str, tokens: int) -> list[str]:
        """The command of the bare loop."""
        rows, model = self._folder / f"{name}.jsonl", self._model
        placed = (
            str(model.folder),
            str(rows),
            str(BATCH),
            str(tokens),
            model.dtype,
            model.device,
        )
        return [sys.executable, str(BARE), *placed]

    def _bare_rate(self, name: str) -> float:
        done = subprocess.run(
            self._bare(name, self.tokens), env=self._env, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(
                f"the bare loop ended with {done.returncode}: {done.stderr}"
            )
        found = json.loads(done.stdout)
        return float(found["answers"] / found["seconds"])
