"""The backends that serve a model on this machine, and send requests as ``openai``."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from mmeval.errors import MissingDataError
from mmeval.model_backends.hf.checkpoint.files import ModelFiles
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.settings import (
    EndpointChoice,
    ImageDetail,
    MaxTokensField,
    ResponseFormat,
)
from mmeval.model_backends.servers.programs import (
    HOST,
    SGLANG,
    VLLM,
    ServerProgram,
    identity_flags,
)
from mmeval.model_backends.servers.restarting import RestartingServer
from mmeval.model_backends.servers.server import Server
from mmeval.model_backends.wire.formats import DEFAULT_PICTURES, DEFAULT_SOUNDS
from mmeval.records import Request, Response
from mmeval.system import AboveZero, OneOrMore, Share, ZeroOrMore


class ServerBackend(OpenAIBackend):
    """Base of ``vllm`` and ``sglang``: an ``openai`` backend with its own server."""

    server_program: ClassVar[ServerProgram]
    usual_connections = 0
    """The value 0 selects the default for servers. Calls to a local server are free."""
    takes_key = False
    jobs_outlast = False

    def __init__(
        self,
        *,
        pretrained: str,
        revision: str = "",
        dtype: str = "auto",
        quantization: str = "",
        max_model_len: ZeroOrMore = 0,
        tensor_parallel_size: OneOrMore = 1,
        data_parallel_size: OneOrMore = 1,
        gpu_memory_utilization: Share = 0.0,
        trust_remote_code: bool = False,
        omni: bool = False,
        command: str | Sequence[str] = "",
        server_args: Mapping[str, Any] | None = None,
        load_timeout: AboveZero = 1800,
        outputs: str | Sequence[str] = "",
        inputs: str | Sequence[str] = "text+image+audio+document",
        max_images: int = 0,
        endpoint: EndpointChoice = "chat",
        timeout: float = 600,
        send_seed: bool | None = None,
        max_tokens_field: MaxTokensField = "max_tokens",
        image_response_format: str = "",
        image_detail: ImageDetail | None = None,
        response_format: ResponseFormat | None = None,
        max_reply_bytes: int = 2**28,
        stream: bool = False,
        extra_body: Mapping[str, Any] | None = None,
        image_formats: str = "+".join(DEFAULT_PICTURES),
        audio_formats: str = "+".join(DEFAULT_SOUNDS),
        fetch_links: str = "",
        videos_sync: bool = False,
        poll_seconds: float = 5,
    ) -> None:
        folder = Path(pretrained).expanduser()
        is_path = pretrained.startswith((".", "/", "~"))
        if not pretrained or (is_path and not folder.exists()):
            raise MissingDataError(
                f"pretrained={pretrained} is not a folder", name="pretrained"
            )
        model, self._files = pretrained, None
        if folder.is_dir():
            model = str(folder.resolve())
            self._files = ModelFiles(folder.resolve().name, folder)
        super().__init__(
            model=model,
            # The port is set once the server has started.
            base_url=f"http://{HOST}/v1",
            revision=revision,
            outputs=outputs,
            inputs=inputs,
            max_images=max_images,
            endpoint=endpoint,
            timeout=timeout,
            send_seed=send_seed,
            max_tokens_field=max_tokens_field,
            image_response_format=image_response_format,
            image_detail=image_detail,
            response_format=response_format,
            max_reply_bytes=max_reply_bytes,
            stream=stream,
            extra_body=extra_body,
            image_formats=image_formats,
            audio_formats=audio_formats,
            fetch_links=fetch_links,
            videos_sync=videos_sync,
            poll_seconds=poll_seconds,
        )
        arguments: dict[str, Any] = {
            "revision": revision,
            "dtype": dtype,
            "quantization": quantization,
            "omni": omni,
            "max_model_len": max_model_len,
            "gpu_memory_utilization": gpu_memory_utilization,
            "tensor_parallel_size": tensor_parallel_size,
            "data_parallel_size": data_parallel_size,
            "trust_remote_code": trust_remote_code,
        }
        self._args = self.server_program.checked_args(arguments)
        self._server_args = self.server_program.checked_server_args(server_args or {})
        self._command = self.server_program.command_from(command)
        self._load_timeout, self._served = load_timeout, self.server_program.name
        self._log: Path | None = None
        self._restarting = RestartingServer(self.start, super().generate)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model and the settings that may change its answers.

        The identity does not depend on the location or speed of the server.
        """
        identity = {**super().identity, "backend": self.server_program.name}
        del identity["base_url"]
        if self._files:
            identity["model"] = self._files.name
            identity["weights"] = self._files.fingerprint
        identity |= identity_flags(self._args)
        flags = identity_flags(self._server_args)
        if flags:
            identity["server_args"] = flags
        return identity

    @property
    def provenance(self) -> Mapping[str, Any]:
        facts = dict(self._args)
        for name in identity_flags(self._args):
            del facts[name]
        return {**facts, "aiohttp": importlib.metadata.version("aiohttp")}

    def log_into(self, file: Path) -> None:
        self._log = file

    def start(self) -> None:
        """Starts the server, and waits until it answers.

        Raises MmevalError if the server does not answer.
        """
        program = self.server_program

        def command_for_port(port: int) -> list[str]:
            model, args = self._settings.model, self._args
            arguments = program.words(model, args, self._server_args, port)
            return [*self._command, *arguments]

        name = f"the server of {self.identity['model']} ({program.name})"
        server = Server(name, command_for_port, self._log)
        self._restarting.server = server
        server.wait_until_healthy(self._load_timeout)
        version = server.version(program.version)
        self._served = f"{program.name} {version}".strip()
        self._transport.move_to(server.base_url)

    async def generate(self, request: Request) -> Response:
        """Returns the server's answer, if necessary after restarts.

        Raises BackendDownError if restarts do not help.
        """
        response = await self._restarting.answer(request)
        if response.error is not None or response.fingerprint:
            return response
        return replace(response, fingerprint=self._served)

    async def close(self) -> None:
        await self._restarting.close()
        await super().close()


class VLLMBackend(ServerBackend):
    """A model that mmeval serves with vLLM.

    The server starts with the first call, and receives requests as ``openai`` sends
    them. ``pretrained`` is a name on the hub or a folder. ``revision``, ``dtype``,
    ``quantization``, ``max_model_len``, ``tensor_parallel_size``,
    ``data_parallel_size``, ``gpu_memory_utilization``, ``trust_remote_code`` and
    ``omni`` (vLLM-Omni) set the server's flags with these names. ``server_args`` are
    other flags. ``command`` is the program, which may be in another environment.
    ``load_timeout`` is the maximum number of seconds until the server answers. The
    other arguments are those of ``openai``.

    Raises MissingError if the program is not on this machine, and UsageError for
    invalid arguments.
    """

    server_program = VLLM


class SGLangBackend(ServerBackend):
    """A model that mmeval serves with SGLang.

    The server starts with the first call, and receives requests as ``openai`` sends
    them. The arguments are those of ``vllm``. ``command`` is the Python interpreter of
    the environment with SGLang.
    """

    server_program = SGLANG
