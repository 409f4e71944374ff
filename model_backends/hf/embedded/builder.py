"""Builds the embedded model: random weights, and a table of what follows what.
It is a transformer that answers every prompt with a phrase, a picture and another phrase.

It has the form of Emu3: one stream of text and picture codes. A token's embedding holds its kind besides random
numbers, and the last layer makes the tokens likely that may follow this kind. So nothing is trained, and prompts of any
length are answered; which phrase and which codes come is up to the random weights, the prompt and the seed of the
request. Its pictures are noise, since the decoder is random too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.system import need

CODES = 64
SIZE = "6*8"
"""Rows and codes a row of its pictures: one token, which no digit of a prompt looks like."""
OPENINGS = ("Here is a picture: ", "Look at this: ", "My drawing follows: ")
CLOSINGS = (" That was all there is.", " More pictures cost extra.", " So much for these colours.")
"""Each sentence is one token."""

CONTEXT = 16384
HIDDEN = 64
SEED = 0
SPREAD = 0.1
"""The standard deviation of random weights: enough for another picture after each prompt, and for several phrases."""
CERTAINTY = 6.0
"""A token's kind in its embedding: a token that may not follow is less likely by some e**-40."""

_CODES = [f"<|visual token {code:06d}|>" for code in range(CODES)]
_NAMED = {
    "image_token": "<image>",
    "boi_token": "<|image start|>",
    "eoi_token": "<|image end|>",
    "image_wrapper_token": "<|image token|>",
    "eof_token": "<|extra_201|>",
    "eol_token": "<|extra_200|>",
}
_BOS, _EOS, _PAD = "<|extra_203|>", "<|extra_204|>", "<|endoftext|>"

_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] | upper }}:{{ ' ' }}"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for p in m['content'] %}"
    "{% if p['type'] == 'text' %}{{ p['text'] }}{% elif p['type'] == 'image' %}<image>{% endif %}"
    "{% endfor %}{% endif %}{{ '\\n' }}{% endfor %}"
)
"""The end of a line is of no kind, whatever the prompt ends with."""

_AFTER: Mapping[tuple[str, ...], Sequence[str]] = {
    OPENINGS: [_NAMED["boi_token"]],
    (_NAMED["boi_token"],): [SIZE],
    (SIZE,): [_NAMED["image_wrapper_token"]],
    (_NAMED["image_wrapper_token"], _NAMED["eol_token"], *_CODES): _CODES,
    (_NAMED["eoi_token"],): CLOSINGS,
    CLOSINGS: [_EOS],
}
"""The tokens of each kind, and those that follow it; after any other token comes an opening. The ends of lines and
pictures follow from the grammar of the adapter."""


def build(folder: Path) -> None:
    """Write the model into a folder, as ``save_pretrained`` would. The same bytes on every call on one machine.
    Raises MissingExtraError without torch or transformers, OSError when the disk is full."""
    torch, transformers, safetensors = need("torch", "hf"), need("transformers", "hf"), need("safetensors", "hf")
    transformers.utils.logging.disable_progress_bar()  # the run has its own
    processor = _processor(transformers)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(SEED)
        model = _model(transformers, processor.tokenizer)
        _say_what_follows(model, processor.tokenizer.get_vocab())
        try:
            model.save_pretrained(folder)
        except safetensors.SafetensorError as error:  # in place of an OSError
            raise OSError(str(error)) from None
        processor.save_pretrained(folder)


# Torch and transformers are optional, so that what comes out of them is Any where types are checked.


def _say_what_follows(model: Any, vocabulary: Mapping[str, int]) -> None:
    """Write the table into the weights: one dimension of the embedding for each kind."""
    given, chosen = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    given[:, : len(_AFTER) + 1] = chosen[:, : len(_AFTER) + 1] = 0
    given[:, 0], chosen[[vocabulary[token] for token in OPENINGS], 0] = CERTAINTY, CERTAINTY
    for kind, (tokens, following) in enumerate(_AFTER.items(), 1):
        at = [vocabulary[token] for token in tokens]
        given[at, 0], given[at, kind] = 0, CERTAINTY
        chosen[[vocabulary[token] for token in following], kind] = CERTAINTY


def _processor(transformers: Any) -> Any:
    tokenizer = _tokenizer(transformers)
    pictures = transformers.Emu3ImageProcessor(min_pixels=32 * 32, max_pixels=64 * 64, spatial_factor=8)
    return transformers.Emu3Processor(
        image_processor=pictures, tokenizer=tokenizer, chat_template=tokenizer.chat_template
    )


def _tokenizer(transformers: Any) -> Any:
    """Bytes, the phrases of its answers, and the tokens of Emu3."""
    tokenizers = need("tokenizers", "hf")
    level = tokenizers.pre_tokenizers.ByteLevel
    symbols = {symbol: at for at, symbol in enumerate(sorted(level.alphabet()))}
    core = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=symbols, merges=[]))
    core.pre_tokenizer = level(add_prefix_space=False, use_regex=False)
    core.decoder = tokenizers.decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=_BOS,
        eos_token=_EOS,
        pad_token=_PAD,
        padding_side="left",
        model_max_length=CONTEXT,
        extra_special_tokens=dict(_NAMED),
    )
    tokenizer.add_tokens(_CODES, special_tokens=True)
    tokenizer.add_tokens([tokenizers.AddedToken(phrase, normalized=False) for phrase in (SIZE, *OPENINGS, *CLOSINGS)])
    tokenizer.chat_template = _TEMPLATE
    return tokenizer


def _model(transformers: Any, tokenizer: Any) -> Any:
    ends = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": HIDDEN,
        "intermediate_size": 2 * HIDDEN,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "max_position_embeddings": CONTEXT,
        "initializer_range": SPREAD,
        **ends,
    }
    pictures = {
        "codebook_size": CODES,
        "embed_dim": 4,
        "latent_channels": 4,
        "base_channels": 32,
        "channel_multiplier": [1, 1, 1, 1],
        "num_res_blocks": 1,
        "attn_resolutions": [3],
        "hidden_size": 32,
        "num_attention_heads": 1,
        "temporal_downsample_factor": 1,
    }
    config = transformers.Emu3Config(text_config=text, vq_config=pictures, vocabulary_map=tokenizer.get_vocab())
    model = transformers.Emu3ForConditionalGeneration(config)
    model.generation_config = transformers.GenerationConfig(**ends, do_sample=True, max_new_tokens=512)
    return model
