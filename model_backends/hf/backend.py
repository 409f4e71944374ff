"""The backend: one local model behind the adapter that speaks its protocol."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmeval import plugins
from mmeval.backend import Capabilities, checked_routes, convert, widened
from mmeval.errors import (
    MissingDataError,
    MissingError,
    MissingExtraError,
    MmevalError,
    UnknownNameError,
    UsageError,
    is_out_of_memory,
)
from mmeval.model_backends.hf.adapter import Adapter
from mmeval.model_backends.hf.capabilities import overridden
from mmeval.model_backends.hf.checkpoint.devices import (
    check_device,
    placed_copies,
    release_memory,
)
from mmeval.model_backends.hf.checkpoint.files import ModelFiles, find_model
from mmeval.model_backends.hf.embedded.builder import ADAPTER_KEY
from mmeval.model_backends.hf.failures import in_a_line
from mmeval.model_backends.hf.settings import (
    DEFAULT_MODEL,
    Settings,
    accelerated,
    checked_device,
    checked_dtype,
    versions,
)
from mmeval.records import DIGEST_CHARS, ErrorKind, Request, Response, digest
from mmeval.system import OneOrMore, ZeroOrMore

GENERIC = "chat"
"""The adapter of model types without their own: takes a chat template, gives text."""

BATCH_ON_ACCELERATOR, BATCH_ON_CPU = 64, 8
"""Rows of a batch unless the user sets a size; halved when memory runs out."""
MOST_ROWS = 4096


class HFBackend:
    """A model of the Hugging Face hub or of a folder, run on this machine.

    ``pretrained`` is a name of the hub, a folder, or ``tiny`` (our own model, made on
    this machine in seconds to test an installation; its scores mean nothing);
    ``revision`` a commit, tag or branch of the hub. ``adapter`` names the protocol of
    the model, instead of its ``model_type``. ``dtype`` is that of the weights
    (``auto``: as they were saved); ``device`` puts the model on one device, else
    ``device_map`` places it. ``attn_implementation`` is a kernel of the library.
    ``trust_remote_code`` runs code that comes with the model.

    ``max_length`` bounds prompt and answer together, in tokens. ``inputs`` and
    ``outputs`` (``text+image``) overrule what the model is known to take and give;
    ``convert`` names what may be given to it in another form (``video->frames``), each
    with a warning in the answer. ``chat_template`` is a file that takes the place of
    the model's own, ``chat_template_args`` are values for it. ``data_parallel_size``
    starts so many copies, each on a device of its own. ``deterministic`` asks the
    library for algorithms that give the same digits every time.

    Raises MissingExtraError, MissingDataError for a missing model, UsageError and
    UnknownNameError for arguments.
    """

    def __init__(
        self,
        *,
        pretrained: str = DEFAULT_MODEL,
        revision: str = "main",
        adapter: str = "auto",
        dtype: str = "auto",
        device: str = "",
        device_map: str = "auto",
        attn_implementation: str = "",
        trust_remote_code: bool = False,
        deterministic: bool = False,
        max_length: ZeroOrMore = 0,
        inputs: str = "",
        outputs: str = "",
        convert: str = "",
        chat_template: str = "",
        chat_template_args: Mapping[str, Any] | None = None,
        data_parallel_size: OneOrMore = 1,
    ) -> None:
        for package in ("torch", "transformers"):  # before gigabytes are fetched
            if importlib.util.find_spec(package) is None:
                raise MissingExtraError(package, "hf")
        self.settings = Settings(
            pretrained=pretrained or DEFAULT_MODEL,
            revision=revision or "main",
            adapter=adapter,
            dtype=checked_dtype(dtype),
            device=checked_device(device),
            device_map=device_map,
            attn_implementation=attn_implementation,
            trust_remote_code=trust_remote_code,
            deterministic=deterministic,
            max_length=max_length,
            inputs=inputs,
            outputs=outputs,
            convert=checked_routes([name for name in convert.split("+") if name]),
            chat_template=_template_in(chat_template),
            chat_template_args=dict(chat_template_args or {}),
        )
        self._copies = data_parallel_size
        self.files = find_model(self.settings)
        self.adapter_name = adapter_name(self.files, adapter)
        made: Adapter = plugins.load("mmeval.hf_adapters", self.adapter_name)(
            self.files, self.settings
        )
        self.adapter = made
        self._adapter_source = ""
        module = type(made).__module__
        file = getattr(sys.modules.get(module), "__file__", None)
        # an edit of a third party's may change answers; ours have a version
        is_foreign = not module.startswith("mmeval.")
        if is_foreign and file and Path(file).is_file():
            source = hashlib.sha256(Path(file).read_bytes())
            self._adapter_source = source.hexdigest()[:DIGEST_CHARS]
        self._capabilities = widened(
            overridden(made.capabilities, self.settings), self.settings.convert
        )
        self._workers = placed_copies(self.settings, self._copies, self.files.commit)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model's identity: everything that changes an answer, except the
        machine."""
        settings = self.settings
        identity: dict[str, Any] = {
            "backend": "hf",
            "model": self.files.name,
            "weights": self.files.fingerprint,
            "adapter": self.adapter_name,
            "dtype": settings.dtype,
            "outputs": sorted(self._capabilities.outputs),
        }
        given: dict[str, Any] = {
            "adapter_source": self._adapter_source,
            "convert": sorted(settings.convert),
            "max_length": settings.max_length,
            "chat_template_args": dict(settings.chat_template_args),
        }
        if settings.chat_template:
            given["chat_template"] = digest(settings.chat_template)
        return identity | {name: value for name, value in given.items() if value}

    @property
    def provenance(self) -> Mapping[str, Any]:
        settings = self.settings
        placed = {"device_map": settings.device_map}
        if settings.device:
            placed = {"device": settings.device}
        return {
            **versions("torch", "transformers", "tokenizers", "accelerate"),
            **placed,
            "attn_implementation": settings.attn_implementation or "auto",
            "deterministic": settings.deterministic,
            "adapter_verified": type(self.adapter).verified,
            "data_parallel_size": self._copies,
        }

    @property
    def workers(self) -> Sequence[Mapping[str, Any]]:
        return self._workers

    @property
    def max_batch_size(self) -> int:
        return MOST_ROWS

    @property
    def usual_batch_size(self) -> int:
        return (
            BATCH_ON_ACCELERATOR if accelerated(self.settings.device) else BATCH_ON_CPU
        )

    def start(self) -> None:
        """Fetch missing files, and load the model. Raises MissingError or
        UsageError."""
        check_device(self.settings.device)
        self.files.fetch_weights()
        try:
            self.adapter.load()
        except MmevalError:
            raise
        # an adapter may fail in any way over the files of another kind of model
        except Exception as error:
            usual = ("auto", self.files.model_type)
            if self.settings.adapter in usual or is_out_of_memory(error):
                raise
            raise UsageError(
                f"adapter={self.adapter_name} does not fit {self.files.name}, a model "
                f"of type {self.files.model_type!r} ({in_a_line(error)}); leave "
                "adapter out, or name another ('mmeval ls adapters' lists them)"
            ) from error

    def generate_batch(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, Response]]:
        ready: list[tuple[int, tuple[str, ...]]] = []
        rows: list[Request] = []
        for position, request in enumerate(requests):
            try:
                row, notes = convert(request, self.settings.convert)
            except MmevalError as error:
                # a medium that cannot be given in another form
                kind: ErrorKind = "bad_request"
                if isinstance(error, MissingError):
                    kind = "internal"
                why = f"the prompt cannot be converted: {error}"
                yield position, Response.failed(kind, why)
                continue
            rows.append(row)
            ready.append((position, notes))
        if not rows:
            return
        try:
            for number, response in self.adapter.answer(rows):
                position, notes = ready[number]
                yield position, replace(response, warnings=(*notes, *response.warnings))
        except (MemoryError, RuntimeError) as error:
            if is_out_of_memory(error):
                release_memory(error)
            raise

    async def close(self) -> None:
        self.adapter.close()


def adapter_name(files: ModelFiles, given: str) -> str:
    """The requested adapter, else the one that the model names, else that of its type,
    else the generic one."""
    known = plugins.names("mmeval.hf_adapters")
    if given != "auto":
        if given not in known:
            raise UnknownNameError(
                "adapter", given, known, "'mmeval ls adapters' lists them"
            )
        return given
    own = str(files.config.get(ADAPTER_KEY, files.model_type))
    return own if own in known else GENERIC


def _template_in(given: str) -> str:
    """The text of a template file, if given.
    Raises MissingDataError, and UsageError for other files."""
    if not given:
        return ""
    try:
        text = Path(given).expanduser().read_text("utf-8")
    except FileNotFoundError:
        raise MissingDataError(
            f"chat_template={given}: there is no such file; give one with a chat "
            "template (Jinja) in it"
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        # not a text, not a valid file name, or no such user
        raise UsageError(
            f"chat_template={given}: it cannot be read as a text ({in_a_line(error)})"
        ) from None
    if not text.strip():
        raise UsageError(
            f"chat_template={given}: the file is empty; give one with a chat template "
            "(Jinja) in it"
        )
    from mmeval.model_backends.hf.conversation.syntax import check_syntax

    check_syntax(text, f"chat_template={given}")
    return text
