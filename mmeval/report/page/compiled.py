"""Keeps compiled templates in mmeval's cache."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from mmeval.errors import StorageError
from mmeval.system.folders import replaced_file

_OTHERS_MAY_WRITE = 0o022


class CompiledTemplates(BytecodeCache):
    """A folder of compiled templates, because compiling takes longer than rendering a
    small page.

    jinja2 checks that a compiled template is of this Python and of this text. If the
    folder cannot be read or written, templates are compiled each time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        file = self._folder / bucket.key
        try:
            status = file.stat()
            # the file is code: only this user may have written it
            if status.st_uid != os.getuid() or status.st_mode & _OTHERS_MAY_WRITE:
                return
            bucket.load_bytecode(io.BytesIO(file.read_bytes()))
        # it is missing; a damaged file may raise any error
        except Exception:
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        compiled = bucket.bytecode_to_string()
        with (
            contextlib.suppress(StorageError),
            replaced_file(self._folder / bucket.key) as new,
        ):
            new.touch(mode=0o600)
            new.write_bytes(compiled)
