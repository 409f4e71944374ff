"""The programs that serve a model, and how the arguments of the backends are written
for each."""

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
"""Other machines cannot reach the server."""
_OURS = frozenset(
    ("host", "port", "model", "model_path", "served_model_name", "api_key")
)
"""What mmeval decides itself."""
_OF_THE_MACHINE = frozenset(
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
"""Flags of place, memory, speed and logs, and leave to run code: no part of a model's
identity."""


@dataclass(frozen=True)
class ServerProgram:
    """A program that serves one model.

    Its command line is ``command``, ``begin``, the model and flags, of which ``flags``
    has the names of our arguments; ``off`` begins a flag that switches off, empty where
    leaving the flag out does that. ``module`` has to be installed for the usual
    command. ``version`` is the path at which the server states its version,
    ``elsewhere`` an example of a command in another environment.
    """

    name: str
    command: tuple[str, ...]
    module: str
    begin: tuple[str, ...]
    flags: Mapping[str, str]
    off: str
    version: str
    elsewhere: str

    def command_from(self, given: str | Sequence[str]) -> tuple[str, ...]:
        """The words that start the program. Raises MissingError where it is not on this
        machine."""
        words = words_of(given) if given else self.command
        searched = os.environ.get("PATH", os.defpath)
        beside = Path(sys.executable).parent
        place = shutil.which(words[0], path=f"{searched}{os.pathsep}{beside}")
        is_elsewhere = given or not self.module
        if place is not None and (is_elsewhere or find_spec(self.module)):
            return (place, *words[1:])
        name, missing = self.name, f"{self.name} is not installed here"
        if given:
            name, missing = "command", f"there is no program {words[0]!r} here"
        raise MissingError(
            missing,
            name=name,
            how_to_fix=f"Install it ('pip install {self.name}'), or name the program "
            f"of another environment with command={self.elsewhere}; a server that "
            "runs already is asked with --model openai.",
        )

    def words(
        self,
        model: str,
        args: Mapping[str, Any],
        server_args: Mapping[str, Any],
        port: int,
    ) -> list[str]:
        """What follows the command: ``args`` by our names, ``server_args`` by the
        program's own."""
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
        """Those of our arguments that are given. Raises UsageError for one that the
        program has no flag for."""
        given = {name: value for name, value in args.items() if value}
        for name in given:
            if name not in self.flags:
                raise UsageError(
                    f"{self.name} has no flag for {name}: leave it out", name=name
                )
        return given

    def checked_server_args(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The program's own flags, with ``_`` in their names; null is not given. Raises
        UsageError for those that mmeval sets, and for keys, which all users of this
        machine could read."""
        checked = {}
        ours = {name: name for name in self.flags}
        for name, flag in self.flags.items():
            ours[flag.lstrip("-").replace("-", "_")] = name
        for given_name, value in given.items():
            if value is None:
                continue
            name = given_name.lstrip("-").replace("-", "_")
            is_secret = name.endswith(("_key", "_token", "_password"))
            fault = ""
            if is_secret and isinstance(value, str):
                fault = (
                    "would be seen in the list of processes: leave it out; a token of "
                    "the hub goes into HF_TOKEN"
                )
            elif name in _OURS:
                fault = "is set by mmeval; leave it out"
            elif name in ours:
                fault = f"is the argument {ours[name]} of {self.name}"
            if fault:
                raise UsageError(f"server_args: {name} {fault}", name="server_args")
            checked[name] = value
        return checked


def of_the_model(args: Mapping[str, Any]) -> dict[str, Any]:
    """Those arguments or flags that may change answers."""
    names = sorted(args.keys() - _OF_THE_MACHINE)
    return {name: args[name] for name in names}


_SAME = {
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
        **_SAME,
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
        **_SAME,
        "max_model_len": "--context-length",
        "gpu_memory_utilization": "--mem-fraction-static",
    },
    off="",
    version="/get_server_info",
    elsewhere="/opt/sglang/bin/python",
)
