"""Compare what two checkouts of mmeval print and write, byte for byte, from the same answers.

    python -m scripts.same_outputs make /tmp/before --python OLD_CHECKOUT_VENV/bin/python
    python -m scripts.same_outputs compare /tmp/before /tmp/after

The first command is given twice, with an interpreter of each checkout. It runs ``STEPS`` in an empty folder, with its
own server as model, judge and captioner, and takes one to three minutes. The second blanks what differs between two
runs of the same code (``BLANKS``, ``UNORDERED``), prints a short diff of each file that differs, and ends with 1 if
there is one. Nothing of mmeval is imported, so the two may have their modules in different places.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.mock_openai_server import MockServer, Settings, State, last_text

PORT = 18765
"""A fixed port, since the server's address is a part of the digests of requests."""
URL = f"http://127.0.0.1:{PORT}/v1"
PATHS = "paths.json"
"""The file in a folder that was made: where the checkout is, and where mmeval was run."""
TASKS = "--tasks unim_hard,mmmg,rubric_example --data bundled"
FEWER = "--tasks unim_hard,mmmg_audio,mmmg_object,rubric_example --data bundled"
ASKED = f"--model openai --model_args base_url={URL},outputs=text+image+audio"
JUDGE = f"--judge openai,model=judge --judge_base_url {URL}"
SECOND = f"--role gemini=openai,model=second,base_url={URL}"
CAPTIONER = f"--captioner openai,model=captioner,base_url={URL},inputs=text+image+audio+video+document"
ROLES = f"{JUDGE} {SECOND} {CAPTIONER}"
VERBS = ("run", "ls", "validate", "doctor", "prepare", "metric", "score", "report", "export", "init")
KINDS = """tasks groups tags metrics backends adapters tools formats loaders prompts
protocols aggregators layouts loggers"""
STEPS: Mapping[str, str] = {
    # information about mmeval
    "help": "--help",
    **{f"help-{verb}": f"{verb} --help" for verb in VERBS},
    **{f"ls-{kind}": f"ls {kind}" for kind in KINDS.split()},
    "validate": f"validate unim_hard mmmg_audio mmmg_object_count rubric_example --data bundled {JUDGE} {CAPTIONER}",
    "validate-wrong": "validate wrong.yaml",
    "prepare": "prepare rubric_example",
    "unknown-task": "--model empty --tasks unim_hrd",
    "unknown-flag": "--model empty --tusks unim_hard",
    "dry-run": f"{ASKED},model=m {TASKS} {ROLES} --dry_run",
    "config": f"{ASKED},model=m -C config.yaml --show_config",
    # runs
    "reference": f"--model reference {TASKS} -s",
    "empty": f"--model empty {FEWER} -s --baseline runs/reference/default",
    "asked": f"{ASKED},model=m {TASKS} -s {ROLES}",
    "asked-again": f"{ASKED},model=m {TASKS} {ROLES}",
    "official": f"{ASKED},model=m {TASKS} --run_id official --profile official {ROLES}",
    "failing": f"{ASKED},model=failing {FEWER} --retry_on_error 0 {JUDGE} {CAPTIONER}",
    "begun": f"{ASKED},model=m -C config.yaml --run_id resumed --limit 1 {JUDGE}",
    "resumed": f"{ASKED},model=m -C config.yaml --run_id resumed --write_out {JUDGE}",
    "unscored": f"{ASKED},model=m -C config.yaml -x --run_id unscored --use_cache store",
    "cached": f"{ASKED},model=m -C config.yaml --run_id cached --use_cache store {JUDGE}",
    "replay": f"--model replay --model_args path=runs/m/default,name=again {TASKS} -s {ROLES} "
    "--baseline runs/m/default",
    # runs scored again
    "score-judged": f"score runs/reference/default -s {ROLES}",
    "score-unscored": f"score runs/m/unscored {JUDGE}",
    "score-switches": "score runs/m/default --metrics text_quality,judge_count,exact_match "
    f'--metric_args \'{{"text_quality": {{"rubric": "dimensions"}}}}\' --baseline runs/again/default {JUDGE}',
    # tables, pages, exports
    "tables": "report runs/m/official --format csv,latex,markdown,svg,png -o tables",
    "tables-several": "report runs/m/official runs/reference/default runs/failing/default "
    "--format csv,latex,markdown,svg,html -o several",
    "tables-printed": "report runs/m/default runs/empty/default --format markdown",
    "layout-unim": "report runs/m/official --layout unim --format csv,latex,markdown -o unim",
    "layout-mmmg": "report runs/m/official --layout mmmg --format csv,latex,markdown -o mmmg",
    "layout-several": "report runs/m/official runs/reference/default --layout unim",
    "page": "report runs/again/default --copy_media -o page",
    "export-mmmg": "export runs/m/default --format mmmg -o export-mmmg",
    "export-unim": "export runs/reference/default --format unim -o export-unim",
    "replay-mmmg": "--model replay --model_args path=export-mmmg/m,format=mmmg,name=from-mmmg "
    "--tasks mmmg_audio,mmmg_object --data bundled",
    "replay-unim": "--model replay --model_args path=export-unim/reference,format=unim,name=from-unim "
    "--tasks unim_hard --data bundled",
    # one metric
    "metric": 'metric wer --answer "the old men sat" --target "the old man sat" --json',
    "metric-judged": f"metric judge_grade --answer hare --target rabbit --input animal? {JUDGE}",
    "metric-cases": "metric choice --cases cases.jsonl",
}
"""Commands of mmeval by name, in their order."""
REPLY = "a hare <<image1>> {letter} {number} and its sound <<audio1>> {key}"
"""The model's answers, and the captions. No two are equal: where several trials need the same call, the journal names
the first one, which would be random."""
GIVEN: Mapping[str, str] = {
    "wrong.yaml": "task: wrong\nloader: interleavd\noutput_modalities: [text, smell]\nmetric_list:\n  - metric: wear\n",
    "config.yaml": "tasks: [rubric_example, mmmg_object_count]\ndata: bundled\nlog_samples: true\n",
    "cases.jsonl": '{"id": 1, "answer": "B", "target": "B"}\n{"id": 2, "answer": "C", "target": "B"}\n',
}
"""Files that the commands read."""


class Blank(NamedTuple):
    """What differs between two runs of the same code. The pattern's group stays, the rest becomes ``<name>``."""

    name: str
    pattern: re.Pattern[str]


BLANKS = (
    # Dates and times of day, in logs, file names, JSON and on the page, and seconds since 1970.
    Blank("time", re.compile(r"()\d{4}-\d\d-\d\d[T :]\d\d[-:]\d\d(?:[-:]\d\d(?:\.\d+)?(?:[+-]\d{4})?)?")),
    Blank("time", re.compile(r'("(?:t|at|date)": ?)\d{10}(?:\.\d+)?')),
    # The duration of a call or a run.
    Blank("seconds", re.compile(r'("(?:latency|seconds|total_evaluation_time_seconds)": ?)"?[\d.e-]+"?')),
    # The code and the machine: the checkouts are of two commits, and may be compared on two machines.
    Blank("version", re.compile(r'("(?:git_hash|mmeval_version|pretty_env_info|mmeval)": ?)"[^"]*"')),
    # The process: a run's lock, and the journal's segments, which are named by host, process and a random part.
    Blank("process", re.compile(r"()pid \d+ on \S+")),
    Blank("segment", re.compile(r"(/journal/)[^/]+(?=\.jsonl$)")),
    # The free space on the disk, in the dry run.
    Blank("room", re.compile(r"(needed at most, )[\d.]+ \w+(?= free)")),
    # Digests over the place of the bundled media, which is in the checkout.
    Blank("digest", re.compile(r'(<checkout>.*?"doc_hash": ?)"[0-9a-f]{64}"')),
    Blank("digest", re.compile(r'^(    "\w+": )"[0-9a-f]{64}"', re.M)),  # the results' task_hashes
    # The module and line that logged a message: a module may move.
    Blank("place", re.compile(r"((?:INFO|WARNING|ERROR) +\[)\w+:\d+(?=\])")),
)
UNORDERED = re.compile(r"/(journal|samples|scores|trials)/.*\.jsonl$")
"""Files with a line for each call, sample or trial. Many run at once, and each is written when it is done, so that the
order is random. The segments of a journal are compared as one."""
SHOWN = 12
"""Lines of a file that are shown from the first that differs."""


class Judge(State):
    """A model, judges and a captioner whose replies follow from the request alone.

    A judge's reply has the fields that the prompt asks for, with values drawn by the digest of the request. The model
    ``failing`` answers two requests of three.
    """

    def message(self, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        fields = re.findall(r'"(\w+)": <(.*?)>[,}]', last_text(body).rsplit("\n", 1)[-1])
        if body["model"] not in ("judge", "second") or not fields:
            message: dict[str, Any] = State.message(self, body, key)
            return message
        return {"role": "assistant", "content": json.dumps({name: _value(kind, int(key, 16)) for name, kind in fields})}

    def admit(self, path: str, key: str, raw_body: bytes) -> tuple[float, str | None]:
        latency, fault = State.admit(self, path, key, raw_body)
        return latency, "500" if b'"failing"' in raw_body and int(key, 16) % 3 == 0 else fault


def _value(kind: str, draw: int) -> Any:
    """A value of the kind that a prompt asks for."""
    if numbers := re.search(r"number from (\d+) to (\d+)", kind):
        low, high = map(int, numbers.groups())
        return low + draw % (high - low + 1)
    if options := re.findall(r'"(.*?)"', kind):
        return options[draw % 5 % len(options)]
    return ["open", "in"][: draw % 3] if "list" in kind else "some words"


def make(folder: Path, python: str) -> None:
    """Run all steps with the mmeval of an interpreter. The folder must not exist."""
    place = Path(tempfile.mkdtemp(prefix="same-"))
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {
        "COLUMNS": "100",
        "HF_HOME": str(place / "hub"),
        "HF_HUB_OFFLINE": "1",
        "LANG": "C.UTF-8",
        "MMEVAL_CACHE_DIR": str(place / "cache"),
        "TZ": "UTC",
    }
    work, said = place / "work", folder / "said"
    work.mkdir()
    said.mkdir(parents=True)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([python, *words], cwd=work, env=environment, capture_output=True, text=True, check=False)

    checkout = run("-c", "import mmeval, pathlib; print(pathlib.Path(mmeval.__path__[0]).parent)").stdout.strip()
    if not checkout:
        sys.exit(f"{python} has no mmeval")
    for name, text in GIVEN.items():
        (work / name).write_text(text)
    with MockServer(port=PORT) as server:
        server.state = Judge(Settings(reply=REPLY))
        for name, words in STEPS.items():
            done = run("-m", "mmeval", *shlex.split(words))
            text = f"$ mmeval {words}\n{done.stdout}[standard error]\n{done.stderr}[exit {done.returncode}]\n"
            (said / f"{name}.txt").write_text(text)
    shutil.move(work, folder / "work")
    shutil.rmtree(place)
    (folder / PATHS).write_text(json.dumps({"checkout": checkout, "work": str(work)}))


def compare(before: Path, after: Path) -> Iterator[str]:
    """The differences, a text for each file: the beginning of a diff, or that it is missing in a folder."""
    old, new = _contents(before), _contents(after)
    for name in sorted(old.keys() | new.keys()):
        if name not in new or name not in old:
            yield f"{name}: only in {before if name in old else after}\n"
        elif old[name] != new[name]:
            yield f"{name} differs\n" + _diff(old[name], new[name])


def _contents(folder: Path) -> dict[str, list[str]]:
    """The lines of all files by name, blanked; for a binary file its digest."""
    paths = json.loads((folder / PATHS).read_text())
    found: dict[str, list[str]] = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != PATHS):
        name = blanked(str(file.relative_to(folder)))
        if UNORDERED.search(name):
            found[name] = sorted(filter(None, (*found.get(name, ()), *_lines(file, paths))))
            continue
        while name in found:  # the next file of the same kind, in the order of their times
            name += "+"
        found[name] = _lines(file, paths)
    return found


def _lines(file: Path, paths: Mapping[str, str]) -> list[str]:
    if file.suffix == ".sqlite":
        with contextlib.closing(sqlite3.connect(file)) as database:
            return sorted(blanked(line) for line in database.iterdump())
    written = file.read_bytes()
    try:
        text = written.decode()
    except UnicodeDecodeError:
        return [hashlib.sha256(written).hexdigest()]
    for name, path in paths.items():
        text = text.replace(path, f"<{name}>")
    return blanked(text).split("\n")


def blanked(text: str) -> str:
    """A text without the parts that differ between two runs of the same code."""
    for name, pattern in BLANKS:
        text = pattern.sub(rf"\1<{name}>", text)
    return text


def _diff(old: Sequence[str], new: Sequence[str]) -> str:
    """A short diff from the first line that differs. Long lines of JSON are broken at their commas."""
    old, new = ([piece for line in lines for piece in re.split(r"(?<=,)(?=[\"{\[])", line)] for lines in (old, new))
    shorter = min(len(old), len(new))
    first = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    window = slice(max(0, first - 2), first + SHOWN)
    return "".join(f"    {line[:200]}\n" for line in [*difflib.unified_diff(old[window], new[window], lineterm="")][2:])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("make")
    making.add_argument("folder", type=Path)
    making.add_argument("--python", required=True)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args(arguments)
    if given.verb == "make":
        make(given.folder, given.python)
        return 0
    differences = list(compare(given.before, given.after))
    sys.stdout.writelines(differences or ["equal\n"])
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
