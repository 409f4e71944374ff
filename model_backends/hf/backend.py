"""The backend, which runs one local model through the adapter for its protocol."""

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
from mmeval.model_backends.hf.checkpoint.loading import ONE_AT_A_TIME
from mmeval.model_backends.hf.embedded.builder import ADAPTER_KEY
from mmeval.model_backends.hf.failures import in_a_line
from mmeval.model_backends.hf.settings import (
    DEFAULT_MODEL,
    HFSettings,
    accelerated,
    checked_device,
    checked_dtype,
    versions,
)
from mmeval.records import DIGEST_CHARS, ErrorKind, Request, Response, digest
from mmeval.system import OneOrMore, ZeroOrMore

GENERIC = "chat"
"""The adapter for other model types, which uses a chat template and returns text."""

BATCH_ON_ACCELERATOR, BATCH_ON_CPU = 64, 8
"""Default number of rows in a batch.

The number is halved when memory runs out.
"""
MOST_ROWS = 4096


class HFBackend:
    """A model of the Hugging Face hub or of a folder, run on this machine.

    ``pretrained`` is a name on the hub, a folder, or ``tiny`` (a model built on this
    machine in seconds to test an installation; its scores mean nothing). ``revision``
    is a commit, tag or branch on the hub. ``adapter`` names the model's protocol. By
    default, ``model_type`` selects it. ``dtype`` is the type of the weights (``auto``:
    as saved). ``device`` is the one device on which the model runs. Without it,
    ``device_map`` distributes the model. ``attn_implementation`` selects the library's
    attention kernel. ``trust_remote_code`` runs code that comes with the model.

    ``max_length`` is the maximum number of tokens in prompt and answer together. For
    models of sounds, it is the maximum in the prompt.
    ``inputs`` and ``outputs`` (``text+image``) override the model's known kinds.
    ``convert`` lists conversions of unsupported media (``video->frames``). Each
    conversion adds a warning to the answer. ``chat_template`` is a file that replaces
    the model's template, and ``chat_template_args`` are values for the template.
    ``data_parallel_size`` is the number of copies, each on its own device.
    ``deterministic`` makes the library use algorithms with reproducible results.

    Raises MissingExtraError if torch or transformers is missing, MissingDataError for a
    missing model, and UsageError or UnknownNameError for invalid arguments.
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
        for package in ("torch", "transformers"):  # checked before the download
            if importlib.util.find_spec(package) is None:
                raise MissingExtraError(package, "hf")
        self.settings = HFSettings(
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
            chat_template=_template_text(chat_template),
            chat_template_args=dict(chat_template_args or {}),
        )
        self._copies = data_parallel_size
        self.files = find_model(self.settings)
        self.adapter_name = adapter_name(self.files, adapter)
        adapter_class = plugins.load("mmeval.hf_adapters", self.adapter_name)
        self.adapter: Adapter = adapter_class(self.files, self.settings)
        self._adapter_source = ""
        module = type(self.adapter).__module__
        file = getattr(sys.modules.get(module), "__file__", None)
        # an edit of a third-party adapter may change answers, while the version of
        # mmeval covers our own adapters
        is_foreign = not module.startswith("mmeval.")
        if is_foreign and file and Path(file).is_file():
            source = hashlib.sha256(Path(file).read_bytes())
            self._adapter_source = source.hexdigest()[:DIGEST_CHARS]
        self._capabilities = widened(
            overridden(self.adapter.capabilities, self.settings),
            self.settings.convert,
        )
        self._workers = placed_copies(self.settings, self._copies, self.files.commit)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def identity(self) -> Mapping[str, Any]:
        """All facts that may change an answer, except those about the machine."""
        settings = self.settings
        identity: dict[str, Any] = {
            "backend": "hf",
            "model": self.files.name,
            "weights": self.files.fingerprint,
            "adapter": self.adapter_name,
            "dtype": settings.dtype,
            "outputs": sorted(self._capabilities.outputs),
        }
        optional: dict[str, Any] = {
            "adapter_source": self._adapter_source,
            "convert": sorted(settings.convert),
            "max_length": settings.max_length,
            "chat_template_args": dict(settings.chat_template_args),
        }
        if settings.chat_template:
            optional["chat_template"] = digest(settings.chat_template)
        return identity | {name: value for name, value in optional.items() if value}

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
        """Fetches missing files and loads the model.

        Raises MissingError or UsageError.
        """
        check_device(self.settings.device)
        self.files.fetch_weights()
        try:
            with ONE_AT_A_TIME:
                self.adapter.load()
        except MmevalError:
            raise
        # an adapter may raise any error for files of a type that it does not know
        except Exception as error:
            automatic = ("auto", self.files.model_type)
            if self.settings.adapter in automatic or is_out_of_memory(error):
                raise
            raise UsageError(
                f"adapter={self.adapter_name} does not fit {self.files.name}, a model "
                f"of type {self.files.model_type!r} ({in_a_line(error)}); leave out "
                "adapter, or name another one ('mmeval ls adapters' lists them)"
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
                # a medium in the prompt cannot be converted
                kind: ErrorKind = "bad_request"
                if isinstance(error, MissingError):
                    kind = "internal"
                reason = f"the prompt cannot be converted: {error}"
                yield position, Response.failed(kind, reason)
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


def adapter_name(files: ModelFiles, requested: str) -> str:
    """Returns the name of the adapter for a model.

    It is the requested adapter, or else the adapter that the model names, the adapter
    of its type, or the generic adapter.
    """
    known = plugins.names("mmeval.hf_adapters")
    if requested != "auto":
        if requested not in known:
            raise UnknownNameError(
                "adapter", requested, known, "'mmeval ls adapters' lists them"
            )
        return requested
    name = str(files.config.get(ADAPTER_KEY, files.model_type))
    return name if name in known else GENERIC


def _template_text(file: str) -> str:
    """Returns the text of a template file, or an empty string without a file.

    Raises MissingDataError for a missing file, and UsageError for an invalid file.
    """
    if not file:
        return ""
    try:
        text = Path(file).expanduser().read_text("utf-8")
    except FileNotFoundError:
        raise MissingDataError(
            f"chat_template={file} does not exist; name a file with a chat template "
            "(Jinja)"
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        # the content is not text, the file name is invalid, or ~user is unknown
        raise UsageError(
            f"chat_template={file}: cannot read this file as text ({in_a_line(error)})"
        ) from None
    if not text.strip():
        raise UsageError(
            f"chat_template={file}: this file is empty; name a file with a chat "
            "template (Jinja)"
        )
    from mmeval.model_backends.hf.conversation.syntax import check_syntax

    check_syntax(text, f"chat_template={file}")
    return text
