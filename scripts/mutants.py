"""Small faults, put into the product one at a time: which of them do the tests notice?

    python -m scripts.mutants draw 500 --seed 17 >mutants.jsonl     # one fault a line
    python -m scripts.mutants run mutants.jsonl --work build/mutants >verdicts.jsonl

``run`` works in copies of the last commit. It runs all tests once with a probe at each
fault, to learn which tests reach it; then, for each fault, these tests alone, the
quickest first, until one fails. A run that was stopped goes on where it was, as long as
faults and commit are the same. ``make mutants`` does both.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("mmeval", "metrics", "model_backends", "tasks")

# A fault is noticed by what reaches it first; tests beyond these seconds are left out,
# and what runs on is stopped.
SECONDS_OF_TESTS, SECONDS_AT_MOST = 30.0, 240.0

_COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_COMPUTED: Mapping[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
    ast.BitOr: "&",
}


class Fault(NamedTuple):
    """One change of ``file``: the text from ``start`` to ``end`` (offsets in bytes)
    becomes ``text``.

    ``inside`` says whether it lies in a function; what lies outside runs once, at the
    import."""

    file: str
    line: int
    start: int
    end: int
    text: str
    kind: str
    inside: bool

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}:{self.start} {self.kind}"


class Tests(NamedTuple):
    """What one run of all tests has shown: seconds of each test, tests that failed,
    tests that reach each fault."""

    seconds: dict[str, float]
    failed: frozenset[str]
    reaching: dict[int, set[str]]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    draw = verbs.add_parser("draw", help="print faults, drawn at random")
    draw.add_argument("count", type=int)
    draw.add_argument("--seed", type=int, default=17)
    run = verbs.add_parser("run", help="run the tests that reach each fault")
    run.add_argument("faults", type=Path)
    run.add_argument(
        "--work",
        type=Path,
        default=ROOT / "build" / "mutants",
        help="a folder for the copies",
    )
    run.add_argument("--tree", type=Path, default=ROOT, help="the working tree")
    run.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    run.add_argument(
        "--tests", default="tests", help="arguments for pytest: which tests to run"
    )
    asked = parser.parse_args(argv)
    if asked.verb == "draw":
        for fault in drawn(asked.count, asked.seed):
            sys.stdout.write(json.dumps(fault._asdict()) + "\n")
        return 0
    faults = [
        Fault(**json.loads(line)) for line in asked.faults.read_text().splitlines()
    ]
    tree = asked.tree.resolve()
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=tree,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    what = hashlib.sha256(f"{commit}{asked.tests}\n{faults}".encode()).hexdigest()[:12]
    return _run(
        faults, tree, asked.work.resolve() / what, asked.jobs, asked.tests.split()
    )


def drawn(count: int, seed: int, root: Path = ROOT) -> list[Fault]:
    """``count`` of all faults that the product allows, in the order of files and
    lines."""
    files = [
        path for folder in PRODUCT for path in sorted((root / folder).rglob("*.py"))
    ]
    faults = [
        fault
        for path in files
        for fault in faults_of(path.read_bytes(), path.relative_to(root).as_posix())
    ]
    return sorted(random.Random(seed).sample(faults, count))


def faults_of(source: bytes, file: str) -> list[Fault]:
    """Every fault that one file allows: in comparisons, logic, arithmetic, numbers,
    truth values, conditions, calls."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def span(
        node: Any,
    ) -> tuple[int, int]:  # the classes of nodes that have a place have no common one
        return starts[node.lineno - 1] + node.col_offset, starts[
            node.end_lineno - 1
        ] + node.end_col_offset

    def text(node: ast.AST) -> str:
        start, end = span(node)
        return source[start:end].decode()

    def fault(node: Any, text: str, kind: str, inside: bool) -> Fault:
        return Fault(file, node.lineno, *span(node), text, kind, inside)

    def found(node: ast.AST, inside: bool) -> Iterator[Fault]:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if (
                type(op) in _COMPARED
            ):
                yield fault(
                    node,
                    f"({text(left)}) {_COMPARED[type(op)]} ({text(right)})",
                    "comparison",
                    inside,
                )
            case ast.BoolOp(values=values):
                word = " or " if isinstance(node.op, ast.And) else " and "
                yield fault(
                    node,
                    word.join(f"({text(value)})" for value in values),
                    "logic",
                    inside,
                )
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield fault(node, f"bool({text(operand)})", "negation", inside)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED:
                if not any(
                    isinstance(side, ast.Constant | ast.JoinedStr) and not _number(side)
                    for side in (left, right)
                ):
                    changed = f"({text(left)}) {_COMPUTED[type(op)]} ({text(right)})"
                    yield fault(node, changed, "arithmetic", inside)
            case ast.Constant(value=bool(value)):
                yield fault(node, repr(not value), "truth value", inside)
            case ast.Constant(value=int(value) | float(value)):
                number = value + 1 if abs(value) >= 1 or value == 0 else value * 1.5
                yield fault(node, repr(number), "number", inside)
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield fault(test, f"not ({text(test)})", "condition", inside)
            case ast.Expr(value=ast.Call() as call):
                yield fault(call, "None", "lost call", inside)
            case ast.Continue():
                yield fault(node, "break", "loop", inside)

    def walked(node: ast.AST, inside: bool) -> Iterator[Fault]:
        yield from found(node, inside)
        for name, value in ast.iter_fields(node):
            if name in (
                "annotation",
                "returns",
                "decorator_list",
                "pattern",
                "type_params",
                "bases",
                "format_spec",
            ):
                continue
            into = inside or (
                name == "body"
                and isinstance(
                    node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
                )
            )
            for child in value if isinstance(value, list) else [value]:
                # f-strings have no places before Python 3.12; what only a type checker
                # reads never runs
                skipped = isinstance(child, ast.JoinedStr) or (
                    isinstance(child, ast.If)
                    and "TYPE_CHECKING" in ast.dump(child.test)
                )
                if isinstance(child, ast.AST) and not skipped:
                    yield from walked(child, into)

    return list(walked(ast.parse(source), False))


def _number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def with_fault(source: bytes, fault: Fault) -> bytes:
    return source[: fault.start] + fault.text.encode() + source[fault.end :]


def with_probes(source: bytes, faults: Mapping[int, Fault]) -> bytes:
    """The file with a call of the probe where each fault lies. For one outside of
    functions: in every function."""
    text: dict[int, list[bytes]] = defaultdict(list)
    for number, fault in sorted(
        faults.items(), key=lambda item: item[1].start - item[1].end
    ):
        if not fault.inside:
            continue
        if fault.kind == "loop":
            text[fault.start].append(b"__probe__(%d); " % number)
        else:
            text[fault.start].append(b"(__probe__(%d) or (" % number)
            text[fault.end].insert(0, b"))")
    outside = [number for number, fault in faults.items() if not fault.inside]
    if outside:
        starts = [0]
        for line in source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and node.body[0].lineno > node.lineno
            ):
                first = next(
                    (each for each in node.body if not isinstance(each, ast.Expr)), None
                )
                if first is not None:
                    first_line = min(
                        [
                            first.lineno,
                            *(
                                each.lineno
                                for each in getattr(first, "decorator_list", [])
                            ),
                        ]
                    )
                    calls = "; ".join(f"__probe__({number})" for number in outside)
                    text[starts[first_line - 1]].insert(
                        0, f"{' ' * first.col_offset}{calls}\n".encode()
                    )
    made = b""
    at = 0
    for offset in sorted(text):
        # what ends here is closed before anything opens
        pieces = sorted(text[offset], key=lambda piece: piece != b"))")
        made += source[at:offset] + b"".join(pieces)
        at = offset
    return made + source[at:]


# In the environment of the copies: `.pth` files are read by every Python that starts
# there, by processes of tests too.
_PROBE = """
import builtins, os
_seen = set()
def _probe(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    if (number, test) in _seen or not test:
        return
    _seen.add((number, test))
    with open(os.path.join({folder!r}, f"{{os.getpid()}}.hits"), "a") as file:
        file.write(f"{{number}}\\t{{test.rpartition(' (')[0]}}\\n")
builtins.__probe__ = _probe
"""

_PLUGIN = """
import json, os
_ORDER = os.environ.get("MUTANTS_ORDER")
def pytest_collection_modifyitems(config, items):
    if _ORDER:
        with open(_ORDER) as file:
            order = {name: place for place, name in enumerate(json.load(file))}
        kept = [item for item in items if item.nodeid in order]
        items[:] = sorted(kept, key=lambda item: order[item.nodeid])
def pytest_runtest_logreport(report):
    if os.environ.get("MUTANTS_TIMES") and not os.environ.get("PYTEST_XDIST_WORKER"):
        with open(os.environ["MUTANTS_TIMES"], "a") as file:
            row = [report.nodeid, report.when, report.duration, report.outcome]
            file.write(json.dumps(row) + "\\n")
"""


def _run(
    faults: Sequence[Fault], tree: Path, work: Path, jobs: int, choice: Sequence[str]
) -> int:
    work.mkdir(parents=True, exist_ok=True)
    known = work / "tests.json"
    if not known.exists():
        tests = _reached(faults, _copy(tree, work / "probed"), work, jobs, choice)
        known.write_text(
            json.dumps(
                [
                    tests.seconds,
                    sorted(tests.failed),
                    {k: sorted(v) for k, v in tests.reaching.items()},
                ]
            )
        )
    seconds, failed, reaching = json.loads(known.read_text())
    tests = Tests(
        seconds,
        frozenset(failed),
        {int(number): set(names) for number, names in reaching.items()},
    )
    sys.stderr.write(f"{len(seconds)} tests, {len(failed)} failed before any fault\n")
    done = {json.loads(line)["number"] for line in _lines(work / "verdicts.jsonl")}
    copies = [_copy(tree, work / f"copy{job}") for job in range(jobs)]
    free = list(copies)

    def judged(number: int) -> None:
        copy = free.pop()
        try:
            verdict = _verdict(number, faults[number], tests, copy, work)
        finally:
            free.append(copy)
        line = json.dumps({"number": number, "fault": faults[number].name, **verdict})
        with (work / "verdicts.jsonl").open("a") as file:
            file.write(line + "\n")

    with ThreadPoolExecutor(jobs) as pool:
        list(
            pool.map(
                judged, [number for number in range(len(faults)) if number not in done]
            )
        )
    verdicts = [json.loads(line) for line in _lines(work / "verdicts.jsonl")]
    for verdict in sorted(verdicts, key=lambda verdict: verdict["number"]):
        sys.stdout.write(json.dumps(verdict) + "\n")
    ends = Counter(
        "noticed by a test" if verdict["killed"] else verdict["by"] or "not noticed"
        for verdict in verdicts
    )
    sys.stderr.write(
        f"{len(verdicts)} faults\n"
        + "".join(f"{count:6} {end}\n" for end, count in ends.most_common())
    )
    return 0


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _copy(tree: Path, at: Path) -> Path:
    """A copy of the tree, with an environment that sees the packages of this one and
    imports the copy."""
    if not (at / "ready").exists():
        shutil.rmtree(at, ignore_errors=True)
        subprocess.run(["git", "clone", "-q", str(tree), str(at / "tree")], check=True)
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(at / "venv")],
            check=True,
        )
        site = next((at / "venv" / "lib").glob("python*/site-packages"))
        theirs = [entry for entry in sys.path if entry.endswith("site-packages")]
        (site / "_packages.pth").write_text("\n".join(theirs) + "\n")
        install = [
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-e",
            ".",
        ]
        subprocess.run(
            [str(at / "venv" / "bin" / "python"), *install], cwd=at / "tree", check=True
        )
        (site / "mutants_plugin.py").write_text(_PLUGIN)
        (at / "ready").touch()
    return at


def _reached(
    faults: Sequence[Fault], copy: Path, work: Path, jobs: int, choice: Sequence[str]
) -> Tests:
    hits = work / "hits"
    shutil.rmtree(hits, ignore_errors=True)
    hits.mkdir()
    site = next((copy / "venv" / "lib").glob("python*/site-packages"))
    (site / "_probe_hits.py").write_text(_PROBE.format(folder=str(hits)))
    (site / "_probe.pth").write_text("import _probe_hits\n")
    by_file: dict[str, dict[int, Fault]] = defaultdict(dict)
    for number, fault in enumerate(faults):
        by_file[fault.file][number] = fault
    for file, found in by_file.items():
        path = copy / "tree" / file
        changed = with_probes(path.read_bytes(), found)
        compile(changed, file, "exec", dont_inherit=True)
        path.write_bytes(changed)
    times = work / "times.jsonl"
    times.unlink(missing_ok=True)
    _pytest(copy, ["-n", str(jobs), *choice], {"MUTANTS_TIMES": str(times)}, limit=None)
    seconds: dict[str, float] = defaultdict(float)
    failed = set()
    for line in _lines(times):
        name, _, duration, outcome = json.loads(line)
        seconds[name] += duration
        if outcome != "passed":
            failed.add(name)
    if not seconds:
        raise SystemExit(f"no test ran; {copy / 'pytest.log'} says why")
    reaching: dict[int, set[str]] = defaultdict(set)
    for line in (line for path in hits.iterdir() for line in _lines(path)):
        place, _, test = line.partition("\t")
        reaching[int(place)].add(test)
    return Tests(dict(seconds), frozenset(failed), dict(reaching))


def _verdict(
    number: int, fault: Fault, tests: Tests, copy: Path, work: Path
) -> dict[str, Any]:
    """Whether a test notices the fault: first those beside its module, then all others
    that reach it.

    What lies outside of functions, or is kept after the first call, shows itself in
    tests that do not reach it, so those of the module's own file always run."""
    folder, _, name = fault.file.rpartition("/")
    beside = f"tests/{folder}/"
    own = f"{beside}test_{name}::"
    reaching = {
        test for test in tests.seconds if test.startswith(own)
    } | tests.reaching.get(number, set())
    reaching &= tests.seconds.keys() - tests.failed
    near, others = (
        _affordable(
            [name for name in reaching if name.startswith(beside) == is_near],
            tests.seconds,
        )
        for is_near in (True, False)
    )
    path = copy / "tree" / fault.file
    source = path.read_bytes()
    path.write_bytes(with_fault(source, fault))
    try:
        by = next(
            filter(
                None,
                (_noticed(chosen, copy, work) for chosen in (near, others) if chosen),
            ),
            "",
        )
    finally:
        path.write_bytes(source)
    return {
        "killed": "::" in by,
        "by": by,
        "tests": len(near) + len(others),
        "reached_by": len(reaching),
    }


def _affordable(names: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
    """The quickest, as many as fit into the seconds of a fault; at least one."""
    chosen: list[str] = []
    total = 0.0
    for name in sorted(names, key=lambda name: (seconds[name], name)):
        total += seconds[name]
        if total > SECONDS_OF_TESTS and chosen:
            break
        chosen.append(name)
    return chosen


def _noticed(chosen: Sequence[str], copy: Path, work: Path) -> str:
    """The first of these tests that fails, or how else the run of them ended; empty:
    all passed."""
    order = work / f"order-{copy.name}.json"
    order.write_text(json.dumps(chosen))
    times = work / f"times-{copy.name}.jsonl"
    times.unlink(missing_ok=True)
    files = sorted({name.partition("::")[0] for name in chosen})
    environment = {"MUTANTS_ORDER": str(order), "MUTANTS_TIMES": str(times)}
    code = _pytest(copy, ["-x", *files], environment, limit=SECONDS_AT_MOST)
    failed = [
        name
        for name, _, _, outcome in map(json.loads, _lines(times))
        if outcome == "failed"
    ]
    # 5: no test of these names is left, so nothing notices
    return (
        failed[0]
        if failed
        else {None: "out of time", 0: "", 5: ""}.get(code, f"exit code {code}")
    )


def _pytest(
    copy: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    limit: float | None,
) -> int | None:
    """The exit code of pytest in a copy; None where it ran out of time and was stopped
    with all its processes."""
    python = str(copy / "venv" / "bin" / "python")
    with (copy / "pytest.log").open("w") as log:
        process = subprocess.Popen(
            [
                python,
                "-m",
                "pytest",
                "-q",
                "-p",
                "mutants_plugin",
                "-p",
                "no:cacheprovider",
                *arguments,
            ],
            cwd=copy / "tree",
            env={
                **os.environ,
                **environment,
                "HF_HUB_OFFLINE": "1",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


if __name__ == "__main__":
    sys.exit(main())
