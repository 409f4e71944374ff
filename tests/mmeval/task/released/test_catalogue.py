"""A catalogue states where released prompts are; its faults have lines."""

from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.task.index import TaskIndex
from mmeval.task.released.catalogue import catalogue_files, read_catalogue
from mmeval.task.selection import choose

COMMIT = "c" * 40
DIGEST = "d" * 64
CATALOGUE = f"""\
sources:
  trees: {{repository: me/trees, commit: {COMMIT}, license: none}}
files:
  - source: trees
    path: a folder/judge.py
    prompts:
      - {{id: trees.judge, recipe: 'name :JUDGE', sha256: {DIGEST}}}
figures:
  - {{id: trees.task, shown_in: figure 3}}
"""
TASK = "task: t\nmetadata: {version: 1}\ndataset_path: ./rows\n"


def written(tmp_path: Path, content: str = CATALOGUE) -> Path:
    file = tmp_path / "released.yaml"
    file.write_text(content)
    return file


def test_a_file_has_an_address_at_its_commit(tmp_path: Path) -> None:
    (file,) = read_catalogue(written(tmp_path)).files
    address = "https://raw.githubusercontent.com/me/trees"
    assert file.address == f"{address}/{COMMIT}/a%20folder/judge.py"


def test_a_file_may_have_its_own_commit(tmp_path: Path) -> None:
    own = CATALOGUE.replace("    prompts:", f"    commit: {'e' * 40}\n    prompts:")
    (file,) = read_catalogue(written(tmp_path, own)).files
    assert file.commit == "e" * 40


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("'name :JUDGE'", "'run judge.py'", "is not a recipe"),
        (DIGEST, "0a", "sha256"),
        ("source: trees", "source: flowers", "'flowers' is not one of the sources"),
        ("trees.task", "trees.judge", "the id trees.judge occurs 2 times"),
        ("license: none", "licence: none", "licence is not a key"),
        ("trees.judge", "../judge", "id"),
    ],
)
def test_a_fault_of_a_catalogue_is_an_error(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file = written(tmp_path, CATALOGUE.replace(old, new))
    with pytest.raises(TaskFileError, match=message):
        read_catalogue(file)


def test_a_task_has_the_catalogue_beside_a_file_that_it_includes(
    tmp_path: Path,
) -> None:
    (tmp_path / "_shared.yaml").write_text("output_type: generate_until\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "t.yaml").write_text(f"{TASK}include: ../_shared.yaml\n")
    file = written(tmp_path)
    chosen = choose([str(inner / "t.yaml")], TaskIndex([tmp_path]))
    assert catalogue_files(chosen.tasks.values()) == [file]
