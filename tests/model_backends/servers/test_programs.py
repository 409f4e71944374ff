import sys
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingError, UsageError
from mmeval.model_backends.servers.programs import SGLANG, VLLM, ServerProgram
from tests.support.backend_runs import program

ARGS = {
    "dtype": "bfloat16",
    "max_model_len": 4096,
    "gpu_memory_utilization": 0.8,
    "trust_remote_code": True,
}
AT = ["--host", "127.0.0.1", "--port", "7"]


@pytest.mark.parametrize(
    ("serves", "begin", "written"),
    [
        (
            VLLM,
            ["serve", "org/m"],
            ["--max-model-len", "4096", "--gpu-memory-utilization", "0.8"],
        ),
        (
            SGLANG,
            ["-m", "sglang.launch_server", "--model-path", "org/m"],
            ["--context-length", "4096"],
        ),
        (
            SGLANG,
            ["-m", "sglang.launch_server", "--model-path", "org/m"],
            ["--mem-fraction-static", "0.8"],
        ),
    ],
    ids=["vllm", "sglang", "sglang's memory"],
)
def test_our_arguments_are_flags_of_the_program(
    serves: ServerProgram, begin: list[str], written: list[str]
) -> None:
    words = serves.words("org/m", ARGS, {}, 7)
    assert words[: len(begin) + 4] == [*begin, *AT]
    assert " ".join(written) in " ".join(words)
    assert words[-1] == "--trust-remote-code"


@pytest.mark.parametrize(
    ("serves", "given", "written"),
    [
        (VLLM, {"max-num-seqs": 8}, ["--max-num-seqs", "8"]),
        (VLLM, {"--enable_prefix_caching": False}, ["--no-enable-prefix-caching"]),
        (
            VLLM,
            {"limit_mm_per_prompt": {"image": 4}},
            ["--limit-mm-per-prompt", '{"image": 4}'],
        ),
        (VLLM, {"lora_modules": ["a=b", "c=d"]}, ["--lora-modules", "a=b", "c=d"]),
        (VLLM, {"lora_modules": [{"name": "a"}]}, ["--lora-modules", '{"name": "a"}']),
        (VLLM, {"max-num-seqs": None}, []),
        (SGLANG, {"disable_radix_cache": True}, ["--disable-radix-cache"]),
        (SGLANG, {"disable_radix_cache": False}, []),
    ],
    ids=str,
)
def test_flags_of_the_program_are_passed_on(
    serves: ServerProgram, given: dict[str, Any], written: list[str]
) -> None:
    assert (
        serves.words("m", {}, serves.checked_server_args(given), 7)[
            len(serves.begin) + 5 :
        ]
        == written
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"port": 8000}, "port is set by mmeval"),
        ({"served-model-name": "x"}, "served_model_name is set by mmeval"),
        ({"api-key": ["a", "b"]}, "api_key is set by mmeval"),
        (
            {"hf-token": "hf_x"},
            "hf_token would be visible in the list of processes.*HF_TOKEN",
        ),
        ({"dtype": "half"}, "is the argument dtype"),
        ({"context_length": 5}, "is the argument max_model_len"),
    ],
    ids=str,
)
def test_flags_that_are_arguments_of_ours_are_refused(
    given: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        SGLANG.checked_server_args(given)


def test_an_argument_without_a_flag_is_refused() -> None:
    assert VLLM.checked_args({"omni": True, "quantization": ""}) == {"omni": True}
    with pytest.raises(UsageError, match="sglang has no flag for omni"):
        SGLANG.checked_args({"omni": True})


@pytest.mark.parametrize("serves", [VLLM, SGLANG], ids=lambda one: one.name)
def test_a_program_that_is_not_here_is_missing_with_what_to_install(
    serves: ServerProgram, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for given in ("", "/no/such/program"):
        with pytest.raises(
            MissingError, match=f"pip install {serves.name}.*command={serves.elsewhere}"
        ) as caught:
            serves.command_from(given)
        assert caught.value.name == ("command" if given else serves.name)


def test_a_program_is_found_on_the_path_or_by_its_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = program(tmp_path / "bin")
    assert VLLM.command_from(f"'{file}' --flag") == (str(file), "--flag")
    assert SGLANG.command_from([sys.executable, "-u"]) == (sys.executable, "-u")
    monkeypatch.setenv("PATH", str(file.parent))
    assert VLLM.command_from("") == (str(file),)
