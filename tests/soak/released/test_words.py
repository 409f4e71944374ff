"""The tree contains no eight words in a row of a released prompt.

``windows.bin`` has the digests of all windows of these prompts, so the prompts are not
needed. ``test_clones.py`` compares it with the authors' repositories.
"""

from collections.abc import Iterator
from pathlib import Path

from tests.soak.released.words import SIZE, window_digests

ROOT = Path(__file__).parents[3]
TREES = (
    "benchmarks",
    "docs",
    "metrics",
    "mmeval",
    "model_backends",
    "scripts",
    "tasks",
    "tests",
)


def texts() -> Iterator[tuple[str, str]]:
    files = [file for file in ROOT.iterdir() if file.is_file()]
    for tree in TREES:
        files += (ROOT / tree).rglob("*")
    for file in files:
        if not file.is_file() or "__pycache__" in file.parts:
            continue
        try:
            yield str(file.relative_to(ROOT)), file.read_text()
        except UnicodeDecodeError:
            continue  # a medium


def stored_windows() -> set[bytes]:
    content = Path(__file__).with_name("windows.bin").read_bytes()
    return {content[begin : begin + SIZE] for begin in range(0, len(content), SIZE)}


def test_no_eight_words_of_a_released_prompt_are_in_the_tree() -> None:
    windows = stored_windows()
    copied = {}
    for name, text in texts():
        count = len(windows.intersection(window_digests(text)))
        if count:
            copied[name] = count
    assert copied == {}


def test_a_window_is_found_in_any_spelling_of_its_words() -> None:
    first = set(window_digests("One two, three four five six seven eight"))
    assert first == set(
        window_digests("# one two three\n- FOUR five six 7 seven eight")
    )
