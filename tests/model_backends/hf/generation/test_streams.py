from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import GenerationConfig, PreTrainedTokenizerFast

from mmeval.model_backends.hf.conversation.rows import TokenStream
from mmeval.model_backends.hf.generation.sampling import Sampling
from mmeval.model_backends.hf.generation.streams import (
    GenerationSettings,
    context_of,
    cut,
    read_generation,
    stop_criterion,
)
from tests.support.models import chat_of

END, PAD = 2, 0
OWN = GenerationSettings(Sampling(), 9, (END, 7), PAD, 0)


@pytest.mark.parametrize(
    ("generated", "stream"),
    [
        ([5, 6, END, PAD, PAD], TokenStream([5, 6], "stop", 3)),
        ([5, 7, 6, 6, 6], TokenStream([5], "stop", 2)),
        ([END, PAD, PAD, PAD, PAD], TokenStream([], "stop", 1)),
        ([5, 6, 5, 6, 5], TokenStream([5, 6, 5, 6, 5], "length", 5)),
        ([5, 6, PAD, PAD, PAD], TokenStream([5, 6], "stop", 2)),
        ([5, 6], TokenStream([5, 6], "stop", 2)),
    ],
    ids=[
        "ended",
        "another end",
        "no words",
        "cut",
        "stopped by a word",
        "stopped as a batch",
    ],
)
def test_a_row_ends_where_its_answer_does(
    generated: list[int], stream: TokenStream
) -> None:
    assert cut(generated, OWN, 5) == stream


def model_with(config: GenerationConfig, **text: Any) -> Any:
    inner = SimpleNamespace(**text)
    return SimpleNamespace(
        generation_config=config,
        config=SimpleNamespace(get_text_config=lambda decoder: inner),
    )


def tokenizer(pad: int | None) -> Any:
    return SimpleNamespace(eos_token_id=END, pad_token_id=pad, all_special_ids=[END, 1])


def test_the_settings_of_a_checkpoint_are_kept_and_its_config_becomes_plain() -> None:
    config = GenerationConfig(
        do_sample=True, temperature=0.5, max_new_tokens=77, num_beams=4, max_length=20
    )
    config.repetition_penalty, config.max_time = 1.5, 0.001
    own = read_generation(
        model_with(config, max_position_embeddings=512), tokenizer(pad=None)
    )
    assert own == GenerationSettings(
        Sampling(temperature=0.5), 77, (END,), 1, 512, left_out=("num_beams=4",)
    )
    assert config.do_sample is False
    assert config.num_beams == 1
    assert config.temperature is None
    assert config.max_new_tokens is None
    # max_length is of prompt and answer together
    assert config.max_length is None
    assert config.max_time is None
    assert config.eos_token_id == [END]
    assert config.pad_token_id == 1
    assert config.repetition_penalty == 1.5
    other = read_generation(
        model_with(GenerationConfig(eos_token_id=[7, 8])), tokenizer(pad=PAD)
    )
    assert other.ends == (7, 8, END)
    assert other.pad == PAD
    assert other.max_tokens == 1024
    only_ends = SimpleNamespace(
        eos_token_id=END, pad_token_id=END, all_special_ids=[END]
    )
    assert read_generation(model_with(GenerationConfig()), only_ends).pad == END
    assert (
        read_generation(
            model_with(GenerationConfig(pad_token_id=END)), tokenizer(pad=PAD)
        ).pad
        == 1
    )
    assert (
        read_generation(
            model_with(GenerationConfig(pad_token_id=-1)), tokenizer(pad=PAD)
        ).pad
        == PAD
    )
    plain = GenerationConfig(
        num_beams=1, min_length=0, penalty_alpha=0.0, token_healing=False
    )
    assert read_generation(model_with(plain), tokenizer(pad=PAD)).left_out == ()
    asking = GenerationConfig(
        min_length=60, forced_eos_token_id=0, watermarking_config={"bias": 5.0}
    )
    left_out = [
        setting.partition("=")[0]
        for setting in read_generation(model_with(asking), tokenizer(pad=PAD)).left_out
    ]
    assert left_out == ["watermarking_config", "min_length", "forced_eos_token_id"]


def test_words_that_no_token_can_write_stop_nothing_and_the_context_is_that_of_the_part_that_writes() -> (
    None
):
    letters = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(WordLevel({"abcdef": 0, "b": 1}, unk_token="b"))
    )
    assert stop_criterion(letters, ("\u6f22",)) is None
    assert context_of(chat_of("llava").model.config) == 4096
    assert context_of(model_with(GenerationConfig()).config) == 0
