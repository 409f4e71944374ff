"""``prepare --prompts`` takes released files from a host or a folder, and checks them."""

import functools
import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.dataset import hub
from mmeval.errors import StorageError
from mmeval.prepare.released_prompts import (
    FileState,
    cached_state,
    figure_states,
    obtain,
)
from mmeval.task.released.cached import cached_path
from mmeval.task.released.catalogue import Catalogue, read_catalogue

COMMIT = "c" * 40
SCRIPT = b'JUDGE = "Is there a tree?"\nCOUNT = "How many trees?"\n'


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def catalogue(folder: Path, address: str = "https://127.0.0.1") -> Catalogue:
    file = folder / "released.yaml"
    file.write_text(f"""\
sources:
  trees:
    repository: me/trees
    commit: {COMMIT}
    license: none
    address: {address}/{{repository}}/{{commit}}/{{path}}
files:
  - source: trees
    path: a folder/judge.py
    sha256: {sha(SCRIPT)}
    prompts:
      - {{id: trees.judge, recipe: 'name :JUDGE', sha256: {sha(b"Is there a tree?")}}}
      - {{id: trees.count, recipe: 'name :COUNT', sha256: {sha(b"How many trees?")}}}
figures:
  - {{id: trees.task, shown_in: figure 3}}
""")
    return read_catalogue(file)


def written(folder: Path, content: bytes = SCRIPT) -> Path:
    file = folder / "a folder" / "judge.py"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return folder


def states(state: FileState) -> list[str]:
    return [prompt.state for prompt in state.prompts]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server of the files below ``tmp_path / "host"``."""
    monkeypatch.setattr("mmeval.prepare.released_prompts.offline", lambda kind: "")
    serve = functools.partial(_QuietHandler, directory=str(tmp_path / "host"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.parametrize("clone", [".", "trees", "me/trees", "me+trees"])
def test_a_file_of_a_clone_is_stored_in_the_cache(tmp_path: Path, clone: str) -> None:
    written(tmp_path / "clones" / clone)
    (file,) = catalogue(tmp_path).files
    obtain(file, tmp_path / "clones")
    assert states(cached_state(file)) == ["here", "here"]


def test_a_file_of_the_host_is_stored_in_the_cache(tmp_path: Path, host: str) -> None:
    written(tmp_path / "host" / "me/trees" / COMMIT)
    (file,) = catalogue(tmp_path, host).files
    obtain(file, None)
    assert cached_path(file).read_bytes() == SCRIPT


def test_another_file_of_the_host_is_refused(tmp_path: Path, host: str) -> None:
    written(tmp_path / "host" / "me/trees" / COMMIT, SCRIPT + b"# more\n")
    (file,) = catalogue(tmp_path, host).files
    state = obtain(file, None)
    assert states(state) == ["changed", "changed"]
    assert not cached_path(file).exists()


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, cache: Path) -> None:
    clone = written(tmp_path / "clone")
    cache.write_text("a file in the place of the folder")
    (file,) = catalogue(tmp_path).files
    with pytest.raises(StorageError, match="cannot be written"):
        obtain(file, clone)


def test_a_changed_text_of_a_clone_is_refused_by_id(tmp_path: Path) -> None:
    clone = written(tmp_path / "clone", SCRIPT.replace(b"many", b"few"))
    (file,) = catalogue(tmp_path).files
    (finding,) = obtain(file, clone).findings()
    assert (finding.kind, finding.subject.name) == ("damaged", "trees.count")
    assert sha(b"How few trees?")[:12] in finding.cause


def test_a_clone_at_another_commit_may_have_the_same_texts(tmp_path: Path) -> None:
    clone = written(tmp_path / "clone", SCRIPT + b"# more\n")
    (file,) = catalogue(tmp_path).files
    assert obtain(file, clone).complete


@pytest.mark.parametrize("content", [b"\xff", b"(\n)\n)", b""])
def test_a_file_that_cannot_be_read_has_no_text(tmp_path: Path, content: bytes) -> None:
    clone = written(tmp_path / "clone", content)
    (file,) = catalogue(tmp_path).files
    assert states(obtain(file, clone)) == ["changed", "changed"]


def test_a_file_that_is_not_at_the_host_is_missing(tmp_path: Path, host: str) -> None:
    (tmp_path / "host").mkdir()
    (file,) = catalogue(tmp_path, host).files
    (finding,) = obtain(file, None).findings()
    assert finding.kind == "missing_data"
    assert host in finding.cause


def test_nothing_is_fetched_offline(
    tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "host" / "me/trees" / COMMIT)
    monkeypatch.setattr("mmeval.prepare.released_prompts.offline", hub.offline)
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    (file,) = catalogue(tmp_path, host).files
    assert states(obtain(file, None)) == ["missing", "missing"]


def test_a_prompt_of_a_figure_names_its_file_in_a_folder(tmp_path: Path) -> None:
    (figure,) = figure_states([catalogue(tmp_path)])
    assert figure.state == "figure"
    assert "FOLDER/TASK.jinja" in figure.reason
