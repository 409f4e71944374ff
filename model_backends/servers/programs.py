"""The programs that can serve a model, and their command lines."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mmeval.errors import MissingError, UsageError
from mmeval.model_backends.process.settings import words_of

HOST = "127.0.0.1"
"""The local host, so that other machines cannot reach the server."""
_RESERVED_FLAGS = frozenset(
    ("host", "port", "model", "model_path", "served_model_name", "api_key")
)
"""Flags that only mmeval may set."""
_MACHINE_FLAGS = frozenset(
    (
        "tensor_parallel_size",
        "data_parallel_size",
        "gpu_memory_utilization",
        "trust_remote_code",
        "tp",
        "tp_size",
        "dp",
        "dp_size",
        "pp",
        "pp_size",
        "pipeline_parallel_size",
        "api_server_count",
        "distributed_executor_backend",
        "base_gpu_id",
        "swap_space",
        "download_dir",
        "max_num_seqs",
        "max_num_batched_tokens",
        "max_running_requests",
        "max_total_tokens",
        "cpu_offload_gb",
        "max_parallel_loading_workers",
        "enforce_eager",
        "disable_cuda_graph",
        "cuda_graph_max_bs",
        "disable_log_stats",
        "disable_log_requests",
        "enable_log_requests",
        "log_requests",
        "log_level",
        "uvicorn_log_level",
        "enable_metrics",
        "watchdog_timeout",
    )
)
"""Flags for placement, memory, speed, logs, and the permission to run code.

These flags are not part of a model's identity.
"""


@dataclass(frozen=True)
class ServerProgram:
    """A program that serves one model.

    Its command line consists of ``command``, ``begin``, the model, and flags. ``flags``
    maps mmeval's arguments to flags. ``off`` is the prefix of a flag that switches
    something off. If it is empty, the flag is left out instead. The default command
    needs the package ``module``. ``version`` is the path at which the server reports
    its version. ``elsewhere`` is an example of a command in another environment.
    """

    name: str
    command: tuple[str, ...]
    module: str
    begin: tuple[str, ...]
    flags: Mapping[str, str]
    off: str
    version: str
    elsewhere: str

    def command_from(self, command: str | Sequence[str]) -> tuple[str, ...]:
        """Returns the words that start the program.

        Raises MissingError if the program is not on this machine.
        """
        words = words_of(command) if command else self.command
        search_path = os.environ.get("PATH", os.defpath)
        python_folder = Path(sys.executable).parent
        path = shutil.which(words[0], path=f"{search_path}{os.pathsep}{python_folder}")
        is_enough = command or not self.module
        if path is not None and (is_enough or find_spec(self.module)):
            return (path, *words[1:])
        name, missing = self.name, f"{self.name} is not installed here"
        if command:
            name, missing = "command", f"the program {words[0]!r} does not exist"
        raise MissingError(
            missing,
            name=name,
            how_to_fix=f"Install it ('pip install {self.name}'), or use the program in "
            f"another environment with command={self.elsewhere}. For a server that is "
            "already running, use --model openai.",
        )

    def words(
        self,
        model: str,
        args: Mapping[str, Any],
        server_args: Mapping[str, Any],
        port: int,
    ) -> list[str]:
        """Returns the words after the command.

        ``args`` use mmeval's names, and ``server_args`` use the program's names.
        """
        flags = {self.flags[name]: value for name, value in args.items()}
        for name, value in server_args.items():
            flags[f"--{name.replace('_', '-')}"] = value
        words = [*self.begin, model, "--host", HOST, "--port", str(port)]
        for flag, value in flags.items():
            if value is False:
                if self.off:
                    words.append(flag.replace("--", self.off, 1))
                continue
            words.append(flag)
            if value is True:
                continue
            for item in value if isinstance(value, (list, tuple)) else [value]:
                is_object = isinstance(item, Mapping)
                words.append(json.dumps(item) if is_object else str(item))
        return words

    def checked_args(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments that are set.

        Raises UsageError for an argument without a flag.
        """
        used = {name: value for name, value in args.items() if value}
        for name in used:
            if name not in self.flags:
                raise UsageError(
                    f"{self.name} has no flag for {name}. Leave it out", name=name
                )
        return used

    def checked_server_args(self, server_args: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the program's own flags, with ``_`` in their names.

        Flags with null values are left out. Raises UsageError for flags that mmeval
        sets. Also raises UsageError for keys, since every user of this machine could
        read them.
        """
        checked = {}
        our_arguments = {name: name for name in self.flags}
        for name, flag in self.flags.items():
            our_arguments[flag.lstrip("-").replace("-", "_")] = name
        for written_name, value in server_args.items():
            if value is None:
                continue
            name = written_name.lstrip("-").replace("-", "_")
            is_secret = name.endswith(("_key", "_token", "_password"))
            fault = ""
            if is_secret and isinstance(value, str):
                fault = (
                    "would be visible in the list of processes. Leave it out (set "
                    "HF_TOKEN for a token of the hub)"
                )
            elif name in _RESERVED_FLAGS:
                fault = "is set by mmeval. Leave it out"
            elif name in our_arguments:
                argument = our_arguments[name]
                fault = f"is the argument {argument} of {self.name}. Set it there"
            if fault:
                raise UsageError(f"server_args: {name} {fault}", name="server_args")
            checked[name] = value
        return checked


def identity_flags(args: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments or flags that may change answers.

    These arguments or flags are part of the model's identity.
    """
    names = sorted(args.keys() - _MACHINE_FLAGS)
    return {name: args[name] for name in names}


_COMMON_FLAGS = {
    "revision": "--revision",
    "dtype": "--dtype",
    "quantization": "--quantization",
    "tensor_parallel_size": "--tensor-parallel-size",
    "data_parallel_size": "--data-parallel-size",
    "trust_remote_code": "--trust-remote-code",
}
"""The flags that both programs have."""
VLLM = ServerProgram(
    name="vllm",
    command=("vllm",),
    module="",
    begin=("serve",),
    flags={
        **_COMMON_FLAGS,
        "max_model_len": "--max-model-len",
        "gpu_memory_utilization": "--gpu-memory-utilization",
        "omni": "--omni",
    },
    off="--no-",
    version="/version",
    elsewhere="/opt/vllm/bin/vllm",
)
SGLANG = ServerProgram(
    name="sglang",
    command=(sys.executable,),
    module="sglang",
    begin=("-m", "sglang.launch_server", "--model-path"),
    flags={
        **_COMMON_FLAGS,
        "max_model_len": "--context-length",
        "gpu_memory_utilization": "--mem-fraction-static",
    },
    off="",
    version="/get_server_info",
    elsewhere="/opt/sglang/bin/python",
)
