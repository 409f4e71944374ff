"""What the builders of tiny models share: their registry, tokenizers, and weights by
which outputs depend on inputs."""

import os
import warnings
from pathlib import Path
from typing import Any, Callable

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
warnings.filterwarnings("ignore")

import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

tf.utils.logging.disable_progress_bar()

BUILDERS: dict[str, Callable[[Path], Any]] = {}
SEED = 0


def model(build: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Registers a model by the name of its builder, which gets a folder and fills
    it."""
    BUILDERS[build.__name__] = build
    return build


def chat_template(
    image: str = "", audio: str = "", video: str = "", eos: str = "</s>"
) -> str:
    """Message content is a string, or typed parts of which media become the model's own
    placeholders, in order."""
    return (
        "{% for m in messages %}{{ m['role'] | upper }}: "
        "{% if m['content'] is string %}{{ m['content'] }}"
        "{% else %}{% for p in m['content'] %}"
        "{% if p['type'] == 'text' %}{{ p['text'] }}"
        "{% elif p['type'] == 'image' %}"
        + image
        + "{% elif p['type'] == 'audio' %}"
        + audio
        + "{% elif p['type'] == 'video' %}"
        + video
        + "{% endif %}{% endfor %}{% endif %}"
        "{% if m['role'] == 'assistant' and not (loop.last and continue_final_message) %}"
        + eos
        + "{% else %}\n{% endif %}{% endfor %}{% if add_generation_prompt %}ASSISTANT: {% endif %}"
    )


def byte_vocab() -> dict[str, int]:
    """The 256 byte-level symbols, so any UTF-8 text can be encoded and decoded."""
    return {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}


def byte_tokenizer(
    extra_tokens: list[str] = (),
    named: dict[str, str] | None = None,
    bos: str = "<s>",
    eos: str = "</s>",
    pad: str = "<pad>",
    template: str | None = None,
    **kwargs,
) -> tf.PreTrainedTokenizerFast:
    """A byte-level tokenizer without merges.

    ``named`` gives tokens that become attributes (``tokenizer.image_token`` and
    ``tokenizer.image_token_id``), which multimodal processors look up by name.
    """
    core = Tokenizer(models.BPE(vocab=byte_vocab(), merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=False
    )
    core.decoder = decoders.ByteLevel()
    tok = tf.PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=bos,
        eos_token=eos,
        pad_token=pad,
        padding_side="left",
        model_max_length=4096,
        extra_special_tokens=dict(named or {}),
        **kwargs,
    )
    if extra_tokens:
        tok.add_tokens(list(extra_tokens), special_tokens=True)
    if template:
        tok.chat_template = template
    return tok


def ids(tok, **kwargs) -> dict[str, int]:
    return dict(
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
        pad_token_id=tok.pad_token_id,
        **kwargs,
    )


TINY = dict(
    hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
)
LM = dict(**TINY, num_key_value_heads=2, max_position_embeddings=4096)
QWEN_VISION = dict(
    depth=2,
    hidden_size=32,
    intermediate_size=64,
    num_heads=4,
    patch_size=4,
    spatial_merge_size=2,
    temporal_patch_size=2,
    out_hidden_size=32,
)
QWEN_EARS = dict(
    num_mel_bins=16,
    encoder_layers=2,
    encoder_attention_heads=4,
    encoder_ffn_dim=64,
    d_model=32,
)
QWEN_ROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}


def llama(tok) -> dict[str, Any]:
    return dict(vocab_size=len(tok), head_dim=8, **LM, **ids(tok))


def generation_config(tok) -> tf.GenerationConfig:
    return tf.GenerationConfig(**ids(tok), do_sample=False)


def spread(m) -> None:
    """Make answers depend on the prompt: freshly initialised models repeat one token
    whatever they are asked."""
    with torch.no_grad():
        for name, p in m.named_parameters():
            if p.ndim >= 2 and "vq" not in name and "embed" not in name:
                p.mul_(6.0)


def amplify(m, factor: float) -> None:
    """Larger weights: freshly initialised ones leave next to nothing of a signal."""
    with torch.no_grad():
        for p in m.parameters():
            if p.ndim >= 2:
                p.mul_(factor)


def talk_on(m, tok) -> None:
    """Make the end of an answer unlikely: without words there is nothing to speak."""
    with torch.no_grad():
        m.lm_head.weight[tok.eos_token_id] = 0.0


def save(folder: Path, *parts) -> None:
    for p in parts:
        p.save_pretrained(folder)


def save_talking(folder: Path, m, tok, processor=None) -> None:
    """A model that answers in words, each prompt in its own."""
    m.generation_config = generation_config(tok)
    spread(m)
    save(folder, m, processor or tok)


def long_ears() -> tf.WhisperFeatureExtractor:
    return tf.WhisperFeatureExtractor(
        feature_size=16, sampling_rate=16000, chunk_length=30
    )
