import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mmeval.dataset.contract import DataSource
from mmeval.dataset.loaders.interleaved import load
from mmeval.errors import MmevalError
from mmeval.media.media import Media
from mmeval.program.prompt_file import read_prompt, read_prompt_folder
from mmeval.system.plain_file import open_plain
from mmeval.system.yaml_document import read_document
from mmeval.task.include import TaskFiles
from mmeval.task.scan import scan_file

OPENERS: dict[str, Callable[[Path], object]] = {
    "a task file": read_document,
    "a prompt": read_prompt,
    "a folder of prompts": lambda pipe: read_prompt_folder(pipe.parent),
    "a medium": lambda pipe: Media(path=pipe).read(),
    "a recorded medium": lambda pipe: (
        Media(path=pipe, sha256="0" * 64, mime="image/png").size
    ),
    "rows of a split": lambda pipe: load(DataSource("t", pipe.parent)),
    "named rows": lambda pipe: load(
        DataSource("t", pipe.parent, options={"data_file": pipe.name})
    ),
}


def test_a_plain_file_is_read_and_a_pipe_or_a_device_is_refused_at_once(
    tmp_path: Path,
) -> None:
    (tmp_path / "plain").write_bytes(b"abc")
    with open_plain(tmp_path / "plain") as file:
        assert file.read() == b"abc"
    os.mkfifo(tmp_path / "pipe")
    for odd in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError, match="not a regular file"):
            open_plain(odd)


def test_below_an_open_folder_a_file_is_read_and_a_link_is_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "plain").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("plain")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with open_plain("plain", folder=folder) as file:
            assert file.read() == b"abc"
        with pytest.raises(OSError, match="symbolic links"):
            open_plain("link", folder=folder)
    finally:
        os.close(folder)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", OPENERS)
def test_a_pipe_is_refused_wherever_a_file_is_named(name: str, tmp_path: Path) -> None:
    pipe = tmp_path / ("test.jinja" if "prompt" in name else "test.jsonl")
    os.mkfifo(pipe)
    with pytest.raises(MmevalError, match="not a regular file"):
        OPENERS[name](pipe)


def test_a_pipe_among_task_files_does_not_stop_the_scan(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.yaml")
    assert scan_file(tmp_path / "a.yaml", TaskFiles()).problem is not None
