"""A batched metric over a real model of transformers, tiny and random: how likely it finds an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from mmeval.metric.contract import metric
from mmeval.metric.model import HubModel, loaded, metric_device
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.toy_weights import note

FILES = HubModel(("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"))


@metric(range=(-50, 0), version="1", source="test", needs=("torch:hf", "transformers:hf"), batch=8)
def likely(trials: Sequence[Trial], *, model: Annotated[str | Mapping[str, Any], FILES] = "me/llm") -> list[Score]:
    """The mean log probability of the answer's tokens. Unscored for fewer than two tokens."""
    import torch

    network, tokenizer = loaded(model, _load)
    note("batch", len(trials))
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    texts = [trial.output.words if trial.output else "" for trial in trials]
    inputs = tokenizer(texts, return_tensors="pt", padding=True, padding_side="right").to(metric_device())
    with torch.inference_mode():
        logits = network(**inputs).logits[:, :-1].log_softmax(-1)
    wanted, mask = inputs["input_ids"][:, 1:], inputs["attention_mask"][:, 1:]
    found = logits.gather(-1, wanted[..., None])[..., 0] * mask
    counts = mask.sum(-1)
    return [
        Score(float(total / count), evidence={"threads": torch.get_num_threads()})
        if count
        else Score.unscored("too short")
        for total, count in zip(found.sum(-1), counts, strict=True)
    ]


def _load(folder: Path, device: str) -> Any:
    import transformers

    note("load", device)
    network = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    return network.to(device).eval(), transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
