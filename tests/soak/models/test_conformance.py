"""Every adapter under the conformance kit, on a tiny model."""

from dataclasses import dataclass, field
from functools import cache

import pytest

from mmeval.authoring.testing.checks import (
    CHECKS,
    BatchCheck,
    combinations,
    requests,
    start,
    usual_prompts,
)
from mmeval.backend.contract import BatchBackend
from mmeval.media.parts import PartKind
from mmeval.model_backends.diffusers import DiffusersBackend
from mmeval.records.request import GenerationParams, Request
from tests.support.models import loaded, tiny_model


@dataclass(frozen=True, eq=False)
class Case:
    """A tiny model asked for some kinds."""

    model: str
    wants: tuple[PartKind, ...] = ("text",)
    params: GenerationParams = field(
        default_factory=lambda: GenerationParams(max_tokens=12)
    )
    prompts: int = 5

    def __str__(self) -> str:
        return f"{self.model}-{'+'.join(self.wants)}"


LONG = GenerationParams(max_tokens=100)
A_FEW_CODES = GenerationParams(max_tokens=6, options={"audio.max_tokens": 4})
PLAIN = GenerationParams()

CASES = (
    *map(Case, ("llm", "llava", "idefics3", "qwen2_5_vl", "qwen2_audio")),
    *map(Case, ("emu3", "janus", "chameleon", "qwen2_5_omni", "qwen3_omni")),
    Case("emu3", ("image",), LONG),
    Case("emu3", ("text", "image"), LONG),
    Case("janus", ("image",)),
    Case("qwen2_5_omni", ("audio",), A_FEW_CODES, prompts=3),
    Case("qwen2_5_omni", ("text", "audio"), A_FEW_CODES, prompts=3),
    Case("qwen3_omni", ("audio",), A_FEW_CODES, prompts=3),
    Case("qwen3_omni", ("text", "audio"), A_FEW_CODES, prompts=3),
    Case("vits", ("audio",), PLAIN),
    Case("bark", ("audio",), A_FEW_CODES),
    Case("csm", ("audio",), A_FEW_CODES),
    Case("musicgen", ("audio",), GenerationParams(options={"audio.seconds": 0.3})),
    *map(Case, ("seamless_m4t", "seamless_m4t_v2")),
    Case("seamless_m4t", ("audio",)),
    Case("seamless_m4t", ("text", "audio")),
    Case("seamless_m4t_v2", ("audio",)),
    Case("seamless_m4t_v2", ("text", "audio")),
    Case("sd", ("image",), GenerationParams(options={"image.steps": 2})),
)


@cache
def backend(model: str) -> BatchBackend:
    if model != "sd":
        return loaded(model, "auto")
    made = DiffusersBackend(pretrained=str(tiny_model(model)))
    start(made)
    return made


@cache
def asked(case: Case) -> list[Request]:
    prompts = usual_prompts(backend(case.model).capabilities)[: case.prompts]
    return requests(prompts, wants=case.wants, params=case.params)


@pytest.mark.parametrize("check", CHECKS.values(), ids=[*CHECKS])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_adapter_keeps_the_contract(case: Case, check: BatchCheck) -> None:
    check(backend(case.model), asked(case))


@pytest.mark.parametrize("model", sorted({case.model for case in CASES}))
def test_nothing_that_a_model_says_it_gives_is_left_untried(model: str) -> None:
    tried = {case.wants for case in CASES if case.model == model}
    assert tried == set(combinations(backend(model).capabilities))
