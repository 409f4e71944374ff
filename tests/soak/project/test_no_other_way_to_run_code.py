"""Code that a model has written is run in the sandbox or not at all: no other module
can run a program."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
MAY = {
    "mmeval/authoring/package/wheel.py": "builds a package with pip",
    "mmeval/media/decode/apart.py": "starts a process of ours that decodes",
    "mmeval/environment/devices.py": "asks torch for its devices in another process",
    "mmeval/report/results_file.py": "asks git for the commit",
    "mmeval/system/child_program.py": "starts the program that the user names for a model",
    "model_backends/sandbox/bubblewrap.py": "starts the sandbox",
    "model_backends/sandbox/front.py": "becomes the program, inside the sandbox",
    "model_backends/sandbox/interpreter.py": "asks an interpreter where it is",
}
"""The modules that start programs, and which: none of them one that a model has
written, but inside the sandbox."""
MODULES = {"code", "codeop", "pdb", "pty", "runpy", "subprocess", "timeit"}
BUILTINS = {"__import__", "compile", "eval", "exec"}
CALLS = re.compile(
    r"(os\.(exec|spawn|posix_spawn|popen|system|fork)\w*|"
    r"asyncio\.create_subprocess_\w+|\w+\.subprocess_\w+)"
)


def ways(file: Path) -> Iterator[str]:
    """What in a module can run code that is not its own."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (
                alias.name
                for alias in node.names
                if alias.name.partition(".")[0] in MODULES
            )
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from [node.module] * (node.module.partition(".")[0] in MODULES)
        elif isinstance(node, ast.Call) and isinstance(
            node.func, ast.Name | ast.Attribute
        ):
            called = ast.unparse(node.func)
            if called in BUILTINS or CALLS.fullmatch(called):
                yield called


def test_only_named_modules_can_run_a_program() -> None:
    trees = ("mmeval", "tasks", "metrics", "model_backends")
    files = [file for tree in trees for file in sorted((ROOT / tree).rglob("*.py"))]
    found = {str(file.relative_to(ROOT)) for file in files if any(ways(file))}
    assert found == MAY.keys()
