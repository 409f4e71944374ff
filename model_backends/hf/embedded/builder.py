"""Builds the embedded model, which writes text, media and code in one stream.

Its folder contains three models of the library with random weights. A transformer of
one layer writes all tokens, ``pictures`` decodes the codes of pictures and frames, and
``sounds`` decodes sound codes. Nothing is trained. The phrases and codes depend on the
random weights, the prompt, and the seed of the request. The adapter
(:mod:`mmeval.model_backends.hf.adapters.tiny`) keeps the kinds in the order of the
request.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from mmeval.media import PartKind
from mmeval.system import need

ADAPTER_KEY = "mmeval_adapter"
"""The key in ``config.json`` that names an adapter different from the model's type."""

MEDIA: tuple[PartKind, ...] = ("image", "audio", "video", "document", "3d")
"""The kinds with their own codes.

The model reads all of these kinds, and writes all but the last.
"""
CODES: Mapping[str, tuple[str, ...]] = {
    kind: tuple(f"<|{kind} {code:x}|>" for code in range(16)) for kind in MEDIA
}
"""The tokens of each kind: one token for each hexadecimal digit of a digest."""
ROWS, COLUMNS = 6, 8
"""Rows and columns of codes in a picture. Each code covers 8 x 8 pixels."""
FRAMES, FRAME_ROWS, FRAME_COLUMNS = 6, 3, 4
"""Frames of a film, and rows and columns of codes in a frame."""
FRAMES_PER_SECOND = 6
WORDS = (
    *("a", "the", "and", "of", "red", "old", "small", "tall"),
    *("hare", "tower", "lamp", "river", "sees", "finds", "draws", "keeps"),
)
"""The word of each code in a document."""
LINE_WORDS = 6
"""Number of words in a line of a document. The first line is the title."""
RUNS: Mapping[PartKind, int] = {
    "image": ROWS * COLUMNS,
    "audio": 32,
    "video": FRAMES * FRAME_ROWS * FRAME_COLUMNS,
    "document": 3 * LINE_WORDS,
    "code": 1,
}
"""Number of tokens in an item of each kind. A sound of 32 codes lasts two seconds."""
PICTURES, SOUNDS = "pictures", "sounds"
"""The folders of the decoders."""

OPENINGS = {
    "image": ("Here is a picture: ", "Look at this: ", "My drawing follows: "),
    "audio": ("Here is a sound: ", "Listen to this: ", "It goes like that: "),
    "video": ("Here is a film: ", "Watch this: ", "My film follows: "),
    "document": ("Here is a page: ", "Read this: ", "My page follows: "),
    "code": ("Here is a program:\n", "Run this:\n", "It takes two lines:\n"),
    "text": (
        "You asked for words, and words you get.",
        "I have thought about it.",
        "There is much to say.",
    ),
}
"""Phrases that the model writes before an item of each kind.

If only text is requested, a phrase of ``text`` comes before the ending.
"""
ENDINGS = (
    " That was all there is.",
    " More of this costs extra.",
    " So much for that.",
)
FENCE, FENCE_END = "```python\n", "```\n"
PROGRAMS = tuple(
    f"{FENCE}for number in range(9):\n    print({what})\n{FENCE_END}"
    for what in ("number", "number**2", "'noise'")
)
"""Each sentence and each program is one token."""

CONTEXT = 16384
HIDDEN = 64
SEED = 1
"""The seed of the weights. With this one, the order of the parts of a short prompt
changes the phrases."""
SPREAD = 0.1
"""Standard deviation of the transformer's weights.

The value is so large that different prompts lead to different codes.
"""
LOUDNESS = 1000.0
"""Standard deviation of the embeddings of sound codes.

The value is so large that different codes lead to different sounds.
"""

_BOS, _EOS, _PAD = "<|begin|>", "<|end|>", "<|pad|>"
_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] | upper }}:{{ ' ' }}"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for p in "
    "m['content'] %}{{ p[p['type']] }}"
    "{% endfor %}{% endif %}{{ '\\n' }}{% endfor %}"
)


def build(folder: Path) -> None:
    """Writes the model to a folder, as ``save_pretrained`` would.

    On one machine, every call writes the same bytes.

    Raises MissingExtraError if torch or transformers is missing, and OSError if the
    disk is full.
    """
    torch = need("torch", "hf")
    transformers = need("transformers", "hf")
    safetensors = need("safetensors", "hf")
    transformers.utils.logging.disable_progress_bar()  # the run shows its own bars
    tokenizer = _tokenizer(transformers)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(SEED)
        try:
            _language_model(transformers, tokenizer).save_pretrained(folder)
            _picture_decoder(transformers).save_pretrained(folder / PICTURES)
            _sound_decoder(transformers).save_pretrained(folder / SOUNDS)
        # the library raises its own error for a full disk
        except safetensors.SafetensorError as error:
            raise OSError(str(error)) from None
        tokenizer.save_pretrained(folder)


# torch and transformers are optional, so their objects are Any for the type checker


def _tokenizer(transformers: Any) -> Any:
    """Returns a tokenizer for bytes, codes of media, phrases and programs."""
    tokenizers = need("tokenizers", "hf")
    level = tokenizers.pre_tokenizers.ByteLevel
    symbols = {symbol: number for number, symbol in enumerate(sorted(level.alphabet()))}
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
    )
    codes = list(chain.from_iterable(CODES.values()))
    tokenizer.add_tokens(codes, special_tokens=True)
    phrases = [*chain.from_iterable(OPENINGS.values()), *ENDINGS, *PROGRAMS]
    tokenizer.add_tokens(
        [tokenizers.AddedToken(phrase, normalized=False) for phrase in phrases]
    )
    tokenizer.chat_template = _TEMPLATE
    return tokenizer


def _language_model(transformers: Any, tokenizer: Any) -> Any:
    ends = {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=1,
        num_attention_heads=4,
        max_position_embeddings=CONTEXT,
        initializer_range=SPREAD,
        **ends,
        **{ADAPTER_KEY: "tiny"},
    )
    model = transformers.LlamaForCausalLM(config)
    model.generation_config = transformers.GenerationConfig(
        **ends, do_sample=True, max_new_tokens=512
    )
    return model


def _picture_decoder(transformers: Any) -> Any:
    config = transformers.Emu3VQVAEConfig(
        codebook_size=len(CODES["image"]),
        embed_dim=4,
        latent_channels=4,
        base_channels=32,
        channel_multiplier=[1, 1, 1, 1],
        num_res_blocks=1,
        attn_resolutions=[3],
        hidden_size=32,
        num_attention_heads=1,
        temporal_downsample_factor=1,
    )
    return transformers.Emu3VQVAE(config)


def _sound_decoder(transformers: Any) -> Any:
    """Returns a decoder that turns sixteen codes into one second of sound."""
    config = transformers.EncodecConfig(
        codebook_size=len(CODES["audio"]),
        sampling_rate=16000,
        upsampling_ratios=[8, 8, 4, 4],
        target_bandwidths=[0.064],
        hidden_size=16,
        num_filters=4,
        num_lstm_layers=1,
    )
    model = transformers.EncodecModel(config)
    # the library initialises all embeddings with zeros
    model.quantizer.layers[0].codebook.embed.normal_(0, LOUDNESS)
    return model
