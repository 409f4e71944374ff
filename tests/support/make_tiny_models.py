#!/usr/bin/env python3
"""Build tiny, randomly initialised Hugging Face models for offline tests: make_tiny_models.py --out FOLDER

Nothing is downloaded: every configuration, vocabulary, chat template and processor is written here, and weights come
from a seeded random initialisation. Each model is saved with ``save_pretrained`` next to its tokenizer or processor.
Their outputs are noise, except that ``emu3`` is fitted for a few seconds to recite one interleaved answer.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import warnings
from pathlib import Path
from typing import Any, Callable

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
warnings.filterwarnings("ignore")

import numpy as np
import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

tf.utils.logging.disable_progress_bar()

# --------------------------------------------------------------------------------------
# Registry
# --------------------------------------------------------------------------------------

BUILDERS: dict[str, Callable[[Path], Any]] = {}
SEED = 0


def model(name: str):
    """Register a builder. The function gets a folder and fills it."""

    def wrap(fn: Callable[[Path], Any]):
        BUILDERS[name] = fn
        return fn

    return wrap


# One template for every chat model here. Message content is either a string or a list of
# typed parts; media parts become the model's own placeholder token, in order.
CHAT_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] | upper }}: "
    "{% if m['content'] is string %}{{ m['content'] }}"
    "{% else %}{% for p in m['content'] %}"
    "{% if p['type'] == 'text' %}{{ p['text'] }}"
    "{% elif p['type'] == 'image' %}__IMAGE__"
    "{% elif p['type'] == 'audio' %}__AUDIO__"
    "{% elif p['type'] == 'video' %}__VIDEO__"
    "{% endif %}{% endfor %}{% endif %}"
    "{% if m['role'] == 'assistant' and not (loop.last and continue_final_message) %}__EOS__{% else %}\n{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}ASSISTANT: {% endif %}"
)


def chat_template(image: str = "", audio: str = "", video: str = "", eos: str = "</s>") -> str:
    return (
        CHAT_TEMPLATE.replace("__IMAGE__", image)
        .replace("__AUDIO__", audio)
        .replace("__VIDEO__", video)
        .replace("__EOS__", eos)
    )


def byte_vocab() -> dict[str, int]:
    """The 256 byte-level symbols, so any UTF-8 text can be encoded and decoded."""
    return {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}


def byte_tokenizer(
    extra_tokens: list[str] = (),
    named: dict[str, str] | None = None,
    wrap_bos_eos: bool = False,
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
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
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
    if wrap_bos_eos:
        tok.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A {eos}",
            special_tokens=[(bos, tok.bos_token_id), (eos, tok.eos_token_id)],
        )
    if template:
        tok.chat_template = template
    return tok


def ids(tok, **kwargs) -> dict[str, int]:
    return dict(bos_token_id=tok.bos_token_id, eos_token_id=tok.eos_token_id, pad_token_id=tok.pad_token_id, **kwargs)


TINY = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
LM = dict(**TINY, num_key_value_heads=2, max_position_embeddings=4096)
QWEN_VISION = dict(
    depth=2, hidden_size=32, intermediate_size=64, num_heads=4, patch_size=4, spatial_merge_size=2,
    temporal_patch_size=2, out_hidden_size=32,
)
QWEN_EARS = dict(num_mel_bins=16, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64, d_model=32)
QWEN_ROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}


def llama_text(tok) -> dict[str, Any]:
    return dict(model_type="llama", vocab_size=len(tok), head_dim=8, **LM, **ids(tok))


def generation_config(tok, **kwargs) -> tf.GenerationConfig:
    return tf.GenerationConfig(**ids(tok), do_sample=False, **kwargs)


def spread(m) -> None:
    """Make answers depend on the prompt: freshly initialised models repeat one token whatever they are asked."""
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


# Llama-style causal LM with a chat template
@model("llm")
def build_llm(out: Path) -> None:
    tok = byte_tokenizer(template=chat_template())
    cfg = tf.LlamaConfig(**{k: v for k, v in llama_text(tok).items() if k != "model_type"}, tie_word_embeddings=True)
    m = tf.LlamaForCausalLM(cfg)
    m.generation_config = generation_config(tok)
    spread(m)
    save(out, m, tok)


# LLaVA: CLIP vision tower + Llama; simplest VLM, works without torchvision
@model("llava")
def build_llava(out: Path) -> None:
    size, patch = 32, 8
    tok = byte_tokenizer(named={"image_token": "<image>"}, template=chat_template(image="<image>"))
    cfg = tf.LlavaConfig(
        vision_config=tf.CLIPVisionConfig(**TINY, image_size=size, patch_size=patch, projection_dim=32),
        text_config=tf.LlamaConfig(**{k: v for k, v in llama_text(tok).items() if k != "model_type"}),
        image_token_index=tok.image_token_id,
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
    )
    m = tf.LlavaForConditionalGeneration(cfg)
    m.generation_config = generation_config(tok)
    proc = tf.LlavaProcessor(
        image_processor=tf.CLIPImageProcessorPil(
            size={"shortest_edge": size}, crop_size={"height": size, "width": size}
        ),
        tokenizer=tok,
        patch_size=patch,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=tok.chat_template,
    )
    spread(m)
    save(out, m, proc)


# Idefics3 (SmolVLM family), any number of images per prompt
@model("idefics3")
def build_idefics3(out: Path) -> None:
    size, patch, scale = 32, 4, 2
    seq = (size // patch) ** 2 // scale**2
    tok = byte_tokenizer(
        named={
            "image_token": "<image>",
            "fake_image_token": "<fake_token_around_image>",
            "global_image_token": "<global-img>",
            "end_of_utterance_token": "<end_of_utterance>",
        },
        template=chat_template(image="<image>", eos="<end_of_utterance>"),
    )
    proc = tf.Idefics3Processor(
        image_processor=tf.Idefics3ImageProcessorPil(
            size={"longest_edge": size}, max_image_size={"longest_edge": size}, do_image_splitting=False
        ),
        tokenizer=tok,
        image_seq_len=seq,
        chat_template=tok.chat_template,
    )
    tok = proc.tokenizer  # the processor may have added tokens
    cfg = tf.Idefics3Config(
        vision_config=dict(**TINY, image_size=size, patch_size=patch),
        text_config=llama_text(tok),
        scale_factor=scale,
        image_token_id=tok.convert_tokens_to_ids("<image>"),
        pad_token_id=tok.pad_token_id,
    )
    m = tf.Idefics3ForConditionalGeneration(cfg)
    m.generation_config = generation_config(tok)
    spread(m)
    save(out, m, proc)


# Qwen2.5-VL: native resolution, patches of all images concatenated
@model("qwen2_5_vl")
def build_qwen2_5_vl(out: Path) -> None:
    tok = byte_tokenizer(
        extra_tokens=["<|vision_start|>", "<|vision_end|>"],
        named={"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"},
        template=chat_template(
            image="<|vision_start|><|image_pad|><|vision_end|>", video="<|vision_start|><|video_pad|><|vision_end|>"
        ),
    )
    tid = tok.convert_tokens_to_ids
    cfg = tf.Qwen2_5_VLConfig(
        text_config=dict(vocab_size=len(tok), **LM, **ids(tok), rope_parameters=QWEN_ROPE),
        vision_config=dict(**QWEN_VISION, window_size=16, fullatt_block_indexes=[1]),
        image_token_id=tid("<|image_pad|>"), video_token_id=tid("<|video_pad|>"),
        vision_start_token_id=tid("<|vision_start|>"), vision_end_token_id=tid("<|vision_end|>"),
    )
    m = tf.Qwen2_5_VLForConditionalGeneration(cfg)
    m.generation_config = generation_config(tok)
    spread(m)
    save(out, m, tok)
    write_qwen_processor(out, "Qwen2_5_VLProcessor")


# Qwen2-Audio: Whisper encoder + Qwen2; any number of sounds per prompt
@model("qwen2_audio")
def build_qwen2_audio(out: Path) -> None:
    marks = ["<|audio_bos|>", "<|audio_eos|>"]
    tok = byte_tokenizer(
        extra_tokens=marks,
        named={"audio_token": "<|AUDIO|>"},
        template=chat_template(audio="<|audio_bos|><|AUDIO|><|audio_eos|>"),
    )
    text = {k: v for k, v in llama_text(tok).items() if k not in ("model_type", "head_dim")}
    cfg = tf.Qwen2AudioConfig(
        audio_config=dict(**QWEN_EARS, max_source_positions=1500),
        text_config=dict(model_type="qwen2", **text),
        audio_token_index=tok.audio_token_id,
    )
    m = tf.Qwen2AudioForConditionalGeneration(cfg)
    m.generation_config = generation_config(tok)
    spread(m)
    ears = tf.WhisperFeatureExtractor(feature_size=16, sampling_rate=16000, chunk_length=30)
    save(out, m, tf.Qwen2AudioProcessor(feature_extractor=ears, tokenizer=tok, chat_template=tok.chat_template))


def write_qwen_processor(out: Path, cls: str, **parts) -> None:
    """Write processor_config.json by hand, for processors that cannot be built without torchvision.

    Class names are stored without the backend suffix, as save_pretrained does.
    """
    size = {"shortest_edge": 32 * 32, "longest_edge": 64 * 64}
    patches = {"patch_size": 4, "merge_size": 2, "temporal_patch_size": 2, "size": size}
    config: dict[str, Any] = {"processor_class": cls}
    for name, part in {"image_processor": tf.Qwen2VLImageProcessorPil(**patches), **parts}.items():
        config[name] = {**part.to_dict(), f"{name}_type": type(part).__name__.removesuffix("Pil")}
    config["video_processor"] = {"video_processor_type": "Qwen2VLVideoProcessor", **patches}
    (out / "processor_config.json").write_text(json.dumps(config, indent=2, default=str))


# Janus: text OR image per call, chosen with generation_mode
@model("janus")
def build_janus(out: Path) -> None:
    size, patch = 32, 8
    n_tokens = (size // patch) ** 2
    tok = byte_tokenizer(
        named={
            "image_token": "<image_placeholder>",
            "boi_token": "<begin_of_image>",
            "eoi_token": "<end_of_image>",
        },
        template=chat_template(image="<image_placeholder>"),
    )
    cfg = tf.JanusConfig(
        text_config=llama_text(tok),
        vision_config=dict(
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=size, patch_size=patch, mlp_ratio=2.0, projection_dim=32, depth=2, num_image_tokens=n_tokens,
        ),
        # the decoder upsamples by 2 ** (len(channel_multiplier) - 1): 4 x 4 codes -> 32 x 32 pixels
        vq_config=dict(
            embed_dim=4, num_embeddings=64, latent_channels=32, base_channels=32, channel_multiplier=[1, 1, 1, 1],
            num_res_blocks=1, projection_dim=32, num_hidden_layers=2, image_token_embed_dim=32,
        ),
        image_token_id=tok.image_token_id,
    )
    m = tf.JanusForConditionalGeneration(cfg)
    # Image mode reads the begin-of-image id from generation_config.generation_kwargs.
    m.generation_config = generation_config(tok)
    m.generation_config.generation_kwargs = {"boi_token_id": tok.boi_token_id}
    proc = tf.JanusProcessor(
        image_processor=tf.JanusImageProcessorPil(size={"height": size, "width": size}, min_size=8),
        tokenizer=tok,
        chat_template=tok.chat_template,
        num_image_tokens=n_tokens,
    )
    spread(m)
    save(out, m, proc)


# Chameleon: reads interleaved images; HF masks image tokens in its output
@model("chameleon")
def build_chameleon(out: Path) -> None:
    size, codes = 32, 64
    image_names = ["IMGIMG" + "".join(chr(ord("A") + int(d)) for d in str(i)) + "Z" for i in range(codes)]
    tok = byte_tokenizer(
        extra_tokens=image_names,
        named={"image_token": "<image>", "boi_token": "<racm3:break>", "eoi_token": "<eoss>"},
        sep_token="<reserved08706>",
    )
    cfg = tf.ChameleonConfig(
        vocab_size=len(tok), **{**LM, "num_key_value_heads": 4}, **ids(tok),
        vocabulary_map=tok.get_vocab(),
        # the encoder downsamples by 2 ** (len(channel_multiplier) - 1): 32 x 32 pixels -> 4 x 4 codes
        vq_config=dict(
            embed_dim=8, num_embeddings=codes, latent_channels=8, resolution=size, base_channels=32,
            channel_multiplier=[1, 1, 1, 1], num_res_blocks=1,
        ),
    )
    m = tf.ChameleonForConditionalGeneration(cfg)
    m.generation_config = generation_config(tok)
    proc = tf.ChameleonProcessor(
        image_processor=tf.ChameleonImageProcessorPil(
            size={"shortest_edge": size}, crop_size={"height": size, "width": size}
        ),
        tokenizer=tok,
        image_seq_length=(size // 8) ** 2,
    )
    spread(m)
    save(out, m, proc)


EMU3_PROMPT = "draw a square"
EMU3_ANSWER = ("Here is one: ", " and done.")


# Emu3: one token stream holds text and image codes (interleaved output)
@model("emu3")
def build_emu3(out: Path) -> None:
    codes, grid = 64, 4
    named = {
        "image_token": "<image>",
        "boi_token": "<|image start|>",
        "eoi_token": "<|image end|>",
        "image_wrapper_token": "<|image token|>",
        "eof_token": "<|extra_201|>",
        "eol_token": "<|extra_200|>",
    }
    visual = [f"<|visual token {i:06d}|>" for i in range(codes)]
    tok = byte_tokenizer(
        extra_tokens=visual, named=named, bos="<|extra_203|>", eos="<|extra_204|>", pad="<|endoftext|>",
        template=chat_template(image="<image>", eos="<|extra_204|>"),
    )
    proc = tf.Emu3Processor(
        image_processor=tf.Emu3ImageProcessor(min_pixels=32 * 32, max_pixels=64 * 64, spatial_factor=8),
        tokenizer=tok,
        chat_template=tok.chat_template,
    )
    cfg = tf.Emu3Config(
        text_config=dict(
            vocab_size=len(tok), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=4, max_position_embeddings=4096, attention_dropout=0.0, **ids(tok),
        ),
        vq_config=dict(
            codebook_size=codes, embed_dim=4, latent_channels=4, base_channels=32, channel_multiplier=[1, 1, 1, 1],
            num_res_blocks=1, attn_resolutions=[3], hidden_size=32, num_attention_heads=1, temporal_downsample_factor=4,
        ),
        vocabulary_map=tok.get_vocab(),
    )
    m = tf.Emu3ForConditionalGeneration(cfg)
    m.generation_config = generation_config(tok)

    # Recite one answer: text, an image block, text, end. The block has the shape the real
    # model writes: <start> H*W <wrapper> row ... <eol> (H rows) <eof> <end>.
    rng = np.random.default_rng(SEED)
    rows = "".join(
        "".join(visual[int(c)] for c in rng.integers(0, codes, grid)) + named["eol_token"] for _ in range(grid)
    )
    block = (
        f"{named['boi_token']}{grid}*{grid}{named['image_wrapper_token']}{rows}"
        f"{named['eof_token']}{named['eoi_token']}"
    )
    prompt = proc.apply_chat_template(
        [{"role": "user", "content": [{"type": "text", "text": EMU3_PROMPT}]}], add_generation_prompt=True
    )
    answer = EMU3_ANSWER[0] + block + EMU3_ANSWER[1] + tok.eos_token
    full = tok(tok.bos_token + prompt + answer, return_tensors="pt", add_special_tokens=False)["input_ids"]
    start = tok(tok.bos_token + prompt, return_tensors="pt", add_special_tokens=False)["input_ids"].shape[1]
    labels = full.clone()
    labels[:, :start] = -100
    params = [p for n, p in m.named_parameters() if "vqmodel" not in n]
    opt = torch.optim.AdamW(params, lr=5e-3)
    m.train()
    for step in range(300):
        loss = m(input_ids=full, labels=labels).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if loss.item() < 5e-3:
            break
    m.eval()
    save(out, m, proc)


# Qwen2.5-Omni: thinker (text) + talker + token2wav (speech)
@model("qwen2_5_omni")
def build_omni(out: Path) -> None:
    named = {
        "image_token": "<|IMAGE|>", "audio_token": "<|AUDIO|>", "video_token": "<|VIDEO|>",
        "vision_bos_token": "<|vision_bos|>", "vision_eos_token": "<|vision_eos|>",
        "audio_bos_token": "<|audio_bos|>", "audio_eos_token": "<|audio_eos|>",
    }
    tts = ["<tts_start>", "<tts_end>", "<tts_pad>", "<|user|>"]
    tok = byte_tokenizer(
        extra_tokens=tts, named=named,
        template=chat_template(
            image="<|vision_bos|><|IMAGE|><|vision_eos|>",
            audio="<|audio_bos|><|AUDIO|><|audio_eos|>",
            video="<|vision_bos|><|VIDEO|><|vision_eos|>",
        ),
    )
    tid = tok.convert_tokens_to_ids
    hidden, mel = 32, 80
    lm = dict(**LM, rope_parameters=QWEN_ROPE)
    shared = dict(
        audio_token_index=tid("<|AUDIO|>"), image_token_index=tid("<|IMAGE|>"), video_token_index=tid("<|VIDEO|>"),
        audio_start_token_id=tid("<|audio_bos|>"), audio_end_token_id=tid("<|audio_eos|>"),
    )
    vision = dict(**QWEN_VISION, window_size=16, fullatt_block_indexes=[1])
    audio = dict(**QWEN_EARS, max_source_positions=1500, n_window=100, output_dim=hidden)
    cfg = tf.Qwen2_5OmniConfig(
        thinker_config=dict(
            text_config=dict(vocab_size=len(tok), **lm, **ids(tok)), vision_config=vision, audio_config=audio,
            user_token_id=tid("<|user|>"), vision_start_token_id=tid("<|vision_bos|>"),
            vision_end_token_id=tid("<|vision_eos|>"), **shared,
        ),
        talker_config=dict(
            vocab_size=64, embedding_size=hidden, head_dim=8, **lm, **shared,
            tts_text_start_token_id=tid("<tts_start>"), tts_text_end_token_id=tid("<tts_end>"),
            tts_text_pad_token_id=tid("<tts_pad>"),
            tts_codec_pad_token_id=60, tts_codec_start_token_id=61, tts_codec_end_token_id=62,
            tts_codec_mask_token_id=63, pad_token_id=60,
            vision_start_token_id=tid("<|vision_bos|>"), vision_end_token_id=tid("<|vision_eos|>"),
        ),
        token2wav_config=dict(
            dit_config=dict(
                hidden_size=32, num_hidden_layers=2, num_attention_heads=4, head_dim=8, emb_dim=16, num_embeds=65,
                mel_dim=mel, look_ahead_layers=[1], look_backward_layers=[0], enc_emb_dim=8, enc_dim=8,
                enc_channels=[16, 16, 16, 16, 48], enc_attention_channels=8, enc_se_channels=8,
            ),
            bigvgan_config=dict(
                mel_dim=mel, upsample_initial_channel=64, resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3, 5]],
            ),
        ),
        enable_audio_output=True,
    )
    m = tf.Qwen2_5OmniForConditionalGeneration(cfg)
    spread(m.thinker.model)
    talk_on(m.thinker, tok)
    spread(m.talker)
    amplify(m.token2wav.code2wav_dit_model, 10.0)  # otherwise every answer is the same silence
    amplify(m.token2wav.code2wav_bigvgan_model, 4.0)
    amplify(m.token2wav.code2wav_bigvgan_model.conv_post, 100.0)
    m.thinker.generation_config = generation_config(tok)
    m.save_pretrained(out)
    g = torch.Generator().manual_seed(SEED)
    # Speakers live outside the weights; from_pretrained insists on this file.
    torch.save(
        {"Chelsie": {"bos_token": tid("<tts_start>"), "cond": torch.randn(1, 8, generator=g),
                     "ref_mel": torch.randn(1, 30, mel, generator=g)}},
        out / "spk_dict.pt",
    )
    tok.save_pretrained(out)
    ears = tf.WhisperFeatureExtractor(feature_size=16, sampling_rate=16000, chunk_length=30)
    write_qwen_processor(out, "Qwen2_5OmniProcessor", feature_extractor=ears)


# Qwen3-Omni: experts in thinker and talker, codes in several books
@model("qwen3_omni")
def build_qwen3_omni(out: Path) -> None:
    named = {
        "image_token": "<|image_pad|>", "audio_token": "<|audio_pad|>", "video_token": "<|video_pad|>",
        "vision_bos_token": "<|vision_start|>", "vision_eos_token": "<|vision_end|>",
        "audio_bos_token": "<|audio_start|>", "audio_eos_token": "<|audio_end|>",
    }
    # The talker finds its turns by single tokens for the roles.
    template = (
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for p in m['content'] %}"
        "{% if p['type'] == 'text' %}{{ p['text'] }}"
        "{% elif p['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
        "{% elif p['type'] == 'audio' %}<|audio_start|><|audio_pad|><|audio_end|>"
        "{% elif p['type'] == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
        "{% endif %}{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    roles = ["system", "user", "assistant"]
    tts = ["<tts_pad>", "<tts_bos>", "<tts_eos>"]
    tok = byte_tokenizer(extra_tokens=["<|im_start|>", *tts, *roles], named=named, eos="<|im_end|>", template=template)
    tid = tok.convert_tokens_to_ids
    hidden, groups, codes = 32, 4, 64
    lm = dict(
        **LM, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, head_dim=8,
        rope_parameters={**QWEN_ROPE, "mrope_interleaved": True},
    )
    media = dict(
        audio_token_id=tid("<|audio_pad|>"), image_token_id=tid("<|image_pad|>"), video_token_id=tid("<|video_pad|>"),
        audio_start_token_id=tid("<|audio_start|>"), vision_start_token_id=tid("<|vision_start|>"),
    )
    cfg = tf.Qwen3OmniMoeConfig(
        thinker_config=dict(
            text_config=dict(vocab_size=len(tok), **lm, **ids(tok)),
            vision_config=dict(**QWEN_VISION, num_position_embeddings=64, deepstack_visual_indexes=[0]),
            audio_config=dict(**QWEN_EARS, output_dim=hidden, downsample_hidden_size=16),
            user_token_id=tid("user"), vision_end_token_id=tid("<|vision_end|>"), **media,
        ),
        # The last 1024 codes of the talker are marks, of which it may say the end alone.
        talker_config=dict(
            text_config=dict(vocab_size=1024 + codes, shared_expert_intermediate_size=32, **lm),
            code_predictor_config=dict(
                vocab_size=codes, head_dim=8, num_code_groups=groups, **LM,
            ),
            num_code_groups=groups, thinker_hidden_size=hidden, accept_hidden_layer=1, spatial_merge_size=2,
            codec_eos_token_id=1070, codec_nothink_id=1071, codec_think_bos_id=1072, codec_think_eos_id=1073,
            codec_pad_id=1074, codec_bos_id=1075, speaker_id={"chelsie": 1080, "ethan": 1081}, **media,
        ),
        code2wav_config=dict(
            codebook_size=codes, hidden_size=hidden, num_attention_heads=4, num_key_value_heads=4, intermediate_size=64,
            num_hidden_layers=2, num_quantizers=groups, upsample_rates=[4, 4], upsampling_ratios=[2, 2], decoder_dim=32,
        ),
        enable_audio_output=True, im_start_token_id=tid("<|im_start|>"), im_end_token_id=tid("<|im_end|>"),
        tts_pad_token_id=tid("<tts_pad>"), tts_bos_token_id=tid("<tts_bos>"), tts_eos_token_id=tid("<tts_eos>"),
        system_token_id=tid("system"), user_token_id=tid("user"), assistant_token_id=tid("assistant"),
    )
    m = tf.Qwen3OmniMoeForConditionalGeneration(cfg)
    with torch.no_grad():
        for name, p in m.talker.named_parameters():
            if ".experts." in name:  # the library leaves these as the memory was
                p.normal_(0.0, 0.02)
    spread(m.thinker.model)
    talk_on(m.thinker, tok)
    amplify(m.talker.model, 3.0)
    amplify(m.code2wav, 3.0)
    amplify(m.code2wav.decoder[-1], 10.0)
    m.thinker.generation_config = generation_config(tok)
    save(out, m, tok)
    ears = tf.WhisperFeatureExtractor(feature_size=16, sampling_rate=16000, chunk_length=30)
    write_qwen_processor(out, "Qwen3OmniMoeProcessor", feature_extractor=ears)


# VITS text-to-speech, the smallest waveform generator
@model("vits")
def build_vits(out: Path) -> None:
    symbols = ["<pad>", "<unk>"] + list(" abcdefghijklmnopqrstuvwxyz.,?!'-0123456789")
    vocab = {c: i for i, c in enumerate(symbols)}
    (out / "vocab.json").write_text(json.dumps(vocab))
    tok = tf.VitsTokenizer(str(out / "vocab.json"), phonemize=False, add_blank=True, language="eng")
    cfg = tf.VitsConfig(
        vocab_size=len(symbols), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, ffn_dim=32,
        flow_size=16, spectrogram_bins=17, use_stochastic_duration_prediction=False,
        upsample_initial_channel=32, upsample_rates=[8, 8], upsample_kernel_sizes=[16, 16],
        resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]],
        prior_encoder_num_flows=2, prior_encoder_num_wavenet_layers=2,
        posterior_encoder_num_wavenet_layers=2, wavenet_dilation_rate=1, duration_predictor_filter_channels=32,
        sampling_rate=16000,
    )
    m = tf.VitsModel(cfg)
    save(out, m, tok)


# CLAP without feature fusion, its audio side as small as its pooling allows
@model("clap")
def build_clap(out: Path) -> None:
    audio = dict(
        depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2], patch_embeds_hidden_size=8, hidden_size=64,
        projection_dim=16, enable_fusion=False,
    )
    text = dict(vocab_size=300, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
    m = tf.ClapModel(tf.ClapConfig(audio_config=audio, text_config=text, projection_dim=16))
    amplify(m.audio_model, 6.0)
    save(out, m, tf.ClapFeatureExtractor(truncation="rand_trunc", padding="repeatpad"))


# Whisper with the languages and marks of the large one, a byte-level tokenizer
@model("whisper")
def build_whisper(out: Path) -> None:
    langs = [f"<|{code}|>" for code in ("en", "zh", "de")]
    marks = ["<|endoftext|>", "<|startoftranscript|>", *langs, "<|translate|>", "<|transcribe|>", "<|startoflm|>",
             "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    marks += [f"<|{k * 0.02:.2f}|>" for k in range(1501)]
    vocab = byte_vocab()
    vocab.update({mark: len(vocab) + at for at, mark in enumerate(marks)})
    tok = tf.WhisperTokenizer(vocab=vocab, merges=[], language="english", task="transcribe")
    tok.add_tokens(marks, special_tokens=True)
    tid = tok.convert_tokens_to_ids
    cfg = tf.WhisperConfig(
        vocab_size=len(tok), num_mel_bins=16, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32,
        max_target_positions=24, decoder_start_token_id=tid("<|startoftranscript|>"), bos_token_id=tok.eos_token_id,
        eos_token_id=tok.eos_token_id, pad_token_id=tok.eos_token_id, suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    m = tf.WhisperForConditionalGeneration(cfg)
    spread(m)
    amplify(m.model.encoder, 3.0)  # what it writes shall depend on what it hears
    m.generation_config = tf.GenerationConfig(
        decoder_start_token_id=cfg.decoder_start_token_id, eos_token_id=tok.eos_token_id,
        pad_token_id=tok.eos_token_id, bos_token_id=tok.eos_token_id, max_length=24, is_multilingual=True,
        lang_to_id={name: tid(name) for name in langs}, no_timestamps_token_id=tid("<|notimestamps|>"),
        task_to_id={"transcribe": tid("<|transcribe|>"), "translate": tid("<|translate|>")},
        prev_sot_token_id=tid("<|startofprev|>"), max_initial_timestamp_index=50, return_timestamps=False,
        suppress_tokens=[], begin_suppress_tokens=[],
    )
    ears = tf.WhisperFeatureExtractor(feature_size=16)
    save(out, m, tf.WhisperProcessor(feature_extractor=ears, tokenizer=tok), ears)


def tiny_speech(**kwargs) -> dict[str, Any]:
    return dict(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, conv_dim=[16] * 7,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2, vocab_size=32, do_stable_layer_norm=False,
        **kwargs,
    )


# WavLM with an x-vector head, for speaker verification
@model("wavlm_sv")
def build_wavlm_sv(out: Path) -> None:
    cfg = tf.WavLMConfig(**tiny_speech(tdnn_dim=[16, 16, 16, 16, 24], xvector_output_dim=16, num_buckets=32))
    m = tf.WavLMForXVector(cfg)
    amplify(m, 4.0)
    save(out, m, tf.Wav2Vec2FeatureExtractor(do_normalize=False, return_attention_mask=True))


# wav2vec 2 with a classifier of two classes
@model("wav2vec2_gender")
def build_wav2vec2_gender(out: Path) -> None:
    m = tf.Wav2Vec2ForSequenceClassification(tf.Wav2Vec2Config(**tiny_speech(num_labels=2, classifier_proj_size=16)))
    amplify(m, 4.0)
    save(out, m, tf.Wav2Vec2FeatureExtractor(do_normalize=True, return_attention_mask=True))


FROZEN = np.random.RandomState(0)


def noise(*shape: int, scale: float = 0.2) -> torch.Tensor:
    """Noise that is the same with every version of every library: tests know what comes of it."""
    return torch.from_numpy(FROZEN.standard_normal(shape) * scale).float()


def beat_attention(dim: int, name: str, head_dim: int, heads: int) -> dict[str, torch.Tensor]:
    inner = head_dim * heads
    return {
        f"{name}.norm.gamma": torch.ones(dim), f"{name}.to_qkv.weight": noise(3 * inner, dim),
        f"{name}.to_gates.weight": noise(heads, dim), f"{name}.to_gates.bias": noise(heads),
        f"{name}.to_out.0.weight": noise(dim, inner),
        f"{name}.rotary_embed.freqs": 10000.0 ** (-torch.arange(0, head_dim, 2).float() / head_dim),
    }


def beat_feed_forward(dim: int, name: str) -> dict[str, torch.Tensor]:
    return {
        f"{name}.net.0.gamma": torch.ones(dim), f"{name}.net.1.weight": noise(4 * dim, dim),
        f"{name}.net.1.bias": noise(4 * dim), f"{name}.net.4.weight": noise(dim, 4 * dim),
        f"{name}.net.4.bias": noise(dim),
    }


def beat_norm(dim: int, name: str) -> dict[str, torch.Tensor]:
    return {
        f"{name}.weight": torch.ones(dim), f"{name}.bias": noise(dim), f"{name}.running_mean": noise(dim),
        f"{name}.running_var": 1 + noise(dim).abs(), f"{name}.num_batches_tracked": torch.tensor(1),
    }


def beat_weights(stem: int = 4, head_dim: int = 4, width: int = 8) -> dict[str, torch.Tensor]:
    """By the names of the released checkpoint."""
    w = {**beat_norm(128, "frontend.stem.bn1d"), "frontend.stem.conv2d.weight": noise(stem, 1, 4, 3)}
    w.update(beat_norm(stem, "frontend.stem.bn2d"))
    dim = stem
    for number in range(3):
        name = f"frontend.blocks.{number}"
        for along in "FT":
            w.update(beat_attention(dim, f"{name}.partial.attn{along}", head_dim, dim // head_dim))
            w.update(beat_feed_forward(dim, f"{name}.partial.ff{along}"))
        w.update({f"{name}.conv2d.weight": noise(2 * dim, dim, 2, 3), **beat_norm(2 * dim, f"{name}.norm")})
        dim *= 2
    w.update({"frontend.linear.weight": noise(width, dim * 4), "frontend.linear.bias": noise(width)})
    for number in range(2):
        w.update(beat_attention(width, f"transformer_blocks.layers.{number}.0", head_dim, width // head_dim))
        w.update(beat_feed_forward(width, f"transformer_blocks.layers.{number}.1"))
    w["transformer_blocks.norm.gamma"] = torch.ones(width)
    w.update({"task_heads.beat_downbeat_lin.weight": noise(2, width), "task_heads.beat_downbeat_lin.bias": noise(2)})
    return w


# a checkpoint with the names of Beat This, of another width
@model("beat_this")
def build_beat_this(out: Path) -> None:
    FROZEN.seed(0)
    state = {f"model.{name}": tensor for name, tensor in beat_weights().items()}
    torch.save({"state_dict": state, "hyper_parameters": {"sum_head": True, "lr": 0.1}}, out / "final0.ckpt")


def vision_weights(width: int = 64, depth: int = 2) -> dict[str, torch.Tensor]:
    """By the names that DINO gives to the parts of a vision transformer."""
    w = {
        "cls_token": noise(1, 1, width), "pos_embed": noise(1, 197, width), "norm.weight": torch.ones(width),
        "norm.bias": noise(width), "patch_embed.proj.weight": noise(width, 3, 16, 16),
        "patch_embed.proj.bias": noise(width),
    }
    for number in range(depth):
        name = f"blocks.{number}"
        for norm in ("norm1", "norm2"):
            w.update({f"{name}.{norm}.weight": torch.ones(width), f"{name}.{norm}.bias": noise(width)})
        sizes = {"attn.qkv": (3, 1), "attn.proj": (1, 1), "mlp.fc1": (4, 1), "mlp.fc2": (1, 4)}
        for part, (to, of) in sizes.items():
            w[f"{name}.{part}.weight"] = noise(to * width, of * width)
            w[f"{name}.{part}.bias"] = noise(to * width)
    return w


# the files of DreamSim's ensemble, with narrow transformers
@model("dreamsim")
def build_dreamsim(out: Path) -> None:
    FROZEN.seed(0)
    width, rank = 64, 4
    (out / "checkpoints").mkdir()
    torch.save(vision_weights(), out / "checkpoints" / "dino_vitbase16_pretrain.pth")
    for name in ("clip_vitb16", "open_clip_vitb16"):
        weights = {**vision_weights(), "proj": noise(width, 32)}
        weights.update({"pos_drop.weight": torch.ones(width), "pos_drop.bias": noise(width)})
        del weights["patch_embed.proj.bias"]
        torch.save({"state_dict": weights}, out / f"{name}_pretrain.pth.tar")
    lora: dict[str, torch.Tensor] = {}
    for tower in range(3):
        for block in range(2):
            name = f"base_model.model.extractor_list.{tower}.model.blocks.{block}.attn.qkv"
            lora[f"{name}.lora_A.weight"] = noise(rank, width)
            lora[f"{name}.lora_B.weight"] = noise(3 * width, rank)
    (out / "ensemble_lora").mkdir()
    from safetensors.torch import save_file

    save_file(lora, out / "ensemble_lora" / "adapter_model.safetensors")
    settings = {"r": rank, "lora_alpha": 2.0, "lora_dropout": 0.3, "bias": "none", "target_modules": ["qkv"]}
    (out / "ensemble_lora" / "adapter_config.json").write_text(json.dumps(settings))


# Stable Diffusion pipeline (diffusers), for agents that call an image tool
@model("sd")
def build_sd(out: Path) -> None:
    import diffusers

    tok = byte_tokenizer(wrap_bos_eos=True, pad="</s>")
    tok.padding_side = "right"
    tok.model_max_length = 77
    text = tf.CLIPTextModel(tf.CLIPTextConfig(
        vocab_size=len(tok), hidden_size=32, intermediate_size=37, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=77, **ids(tok),
    ))
    unet = diffusers.UNet2DConditionModel(
        block_out_channels=(4, 8), layers_per_block=1, sample_size=32, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32, norm_num_groups=2, attention_head_dim=2,
    )
    vae = diffusers.AutoencoderKL(
        block_out_channels=(4, 8), in_channels=3, out_channels=3, latent_channels=4, norm_num_groups=2,
        down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"), up_block_types=("UpDecoderBlock2D", "UpDecoderBlock2D"),
    )
    pipe = diffusers.StableDiffusionPipeline(
        vae=vae, text_encoder=text, tokenizer=tok, unet=unet,
        scheduler=diffusers.DDIMScheduler(clip_sample=False, set_alpha_to_one=False, beta_schedule="scaled_linear"),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )
    pipe.save_pretrained(out)



def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--out", type=Path, required=True, help="folder to fill, one subfolder per model")
    out = p.parse_args().out
    torch.set_num_threads(2)
    for name, build in BUILDERS.items():
        shutil.rmtree(out / name, ignore_errors=True)
        (out / name).mkdir(parents=True)
        tf.set_seed(SEED)
        build(out / name)


if __name__ == "__main__":
    main()
