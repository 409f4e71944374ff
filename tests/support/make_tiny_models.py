#!/usr/bin/env python3
"""Build tiny, randomly initialised Hugging Face models for offline tests:
make_tiny_models.py --out FOLDER

Nothing is downloaded: every configuration, vocabulary, chat template and processor is
written here, and weights come from a seeded random initialisation. Each model is saved
with ``save_pretrained`` next to its tokenizer or processor. Their outputs are noise,
except that ``emu3`` is fitted for a few seconds to recite one interleaved answer.
"""

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

import diffusers
import numpy as np
import torch
import transformers as tf
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

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


@model
def llm(out: Path) -> None:
    """Llama-style causal LM with a chat template"""
    tok = byte_tokenizer(template=chat_template())
    save_talking(
        out,
        tf.LlamaForCausalLM(tf.LlamaConfig(**llama(tok), tie_word_embeddings=True)),
        tok,
    )


@model
def llava(out: Path) -> None:
    """CLIP vision tower + Llama; simplest VLM, works without torchvision"""
    size, patch = 32, 8
    tok = byte_tokenizer(
        named={"image_token": "<image>"}, template=chat_template(image="<image>")
    )
    cfg = tf.LlavaConfig(
        vision_config=tf.CLIPVisionConfig(
            **TINY, image_size=size, patch_size=patch, projection_dim=32
        ),
        text_config=tf.LlamaConfig(**llama(tok)),
        image_token_index=tok.image_token_id,
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
    )
    eyes = tf.CLIPImageProcessorPil(
        size={"shortest_edge": size}, crop_size={"height": size, "width": size}
    )
    proc = tf.LlavaProcessor(
        image_processor=eyes,
        tokenizer=tok,
        patch_size=patch,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=tok.chat_template,
    )
    save_talking(out, tf.LlavaForConditionalGeneration(cfg), tok, proc)


@model
def idefics3(out: Path) -> None:
    """SmolVLM family, any number of images per prompt"""
    size, patch, scale = 32, 4, 2
    named = {
        "image_token": "<image>",
        "fake_image_token": "<fake_token_around_image>",
        "global_image_token": "<global-img>",
        "end_of_utterance_token": "<end_of_utterance>",
    }
    tok = byte_tokenizer(
        named=named, template=chat_template(image="<image>", eos="<end_of_utterance>")
    )
    eyes = tf.Idefics3ImageProcessorPil(
        size={"longest_edge": size},
        max_image_size={"longest_edge": size},
        do_image_splitting=False,
    )
    seq = (size // patch) ** 2 // scale**2
    proc = tf.Idefics3Processor(
        image_processor=eyes,
        tokenizer=tok,
        image_seq_len=seq,
        chat_template=tok.chat_template,
    )
    tok = proc.tokenizer  # the processor may have added tokens
    cfg = tf.Idefics3Config(
        vision_config=dict(**TINY, image_size=size, patch_size=patch),
        text_config=dict(model_type="llama", **llama(tok)),
        scale_factor=scale,
        image_token_id=tok.convert_tokens_to_ids("<image>"),
        pad_token_id=tok.pad_token_id,
    )
    save_talking(out, tf.Idefics3ForConditionalGeneration(cfg), tok, proc)


@model
def qwen2_5_vl(out: Path) -> None:
    """Native resolution, patches of all images concatenated"""
    image, video = (
        "<|vision_start|><|%s_pad|><|vision_end|>" % kind for kind in ("image", "video")
    )
    tok = byte_tokenizer(
        extra_tokens=["<|vision_start|>", "<|vision_end|>"],
        named={"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"},
        template=chat_template(image=image, video=video),
    )
    tid = tok.convert_tokens_to_ids
    cfg = tf.Qwen2_5_VLConfig(
        text_config=dict(
            vocab_size=len(tok), **LM, **ids(tok), rope_parameters=QWEN_ROPE
        ),
        vision_config=dict(**QWEN_VISION, window_size=16, fullatt_block_indexes=[1]),
        image_token_id=tid("<|image_pad|>"),
        video_token_id=tid("<|video_pad|>"),
        vision_start_token_id=tid("<|vision_start|>"),
        vision_end_token_id=tid("<|vision_end|>"),
    )
    save_talking(out, tf.Qwen2_5_VLForConditionalGeneration(cfg), tok)
    write_qwen_processor(out, "Qwen2_5_VLProcessor")


@model
def qwen2_audio(out: Path) -> None:
    """Whisper encoder + Qwen2; any number of sounds per prompt"""
    tok = byte_tokenizer(
        extra_tokens=["<|audio_bos|>", "<|audio_eos|>"],
        named={"audio_token": "<|AUDIO|>"},
        template=chat_template(audio="<|audio_bos|><|AUDIO|><|audio_eos|>"),
    )
    cfg = tf.Qwen2AudioConfig(
        audio_config=dict(**QWEN_EARS, max_source_positions=1500),
        text_config=dict(model_type="qwen2", vocab_size=len(tok), **LM, **ids(tok)),
        audio_token_index=tok.audio_token_id,
    )
    proc = tf.Qwen2AudioProcessor(
        feature_extractor=long_ears(), tokenizer=tok, chat_template=tok.chat_template
    )
    save_talking(out, tf.Qwen2AudioForConditionalGeneration(cfg), tok, proc)


def write_qwen_processor(out: Path, cls: str, **parts) -> None:
    """Write processor_config.json by hand, for processors that cannot be built without
    torchvision.

    Class names are stored without the backend suffix, as save_pretrained does.
    """
    size = {"shortest_edge": 32 * 32, "longest_edge": 64 * 64}
    patches = {"patch_size": 4, "merge_size": 2, "temporal_patch_size": 2, "size": size}
    config: dict[str, Any] = {"processor_class": cls}
    for name, part in {
        "image_processor": tf.Qwen2VLImageProcessorPil(**patches),
        **parts,
    }.items():
        config[name] = {
            **part.to_dict(),
            f"{name}_type": type(part).__name__.removesuffix("Pil"),
        }
    config["video_processor"] = {
        "video_processor_type": "Qwen2VLVideoProcessor",
        **patches,
    }
    (out / "processor_config.json").write_text(
        json.dumps(config, indent=2, default=str)
    )


@model
def janus(out: Path) -> None:
    """Text OR image per call, chosen with generation_mode"""
    size, patch = 32, 8
    n_tokens = (size // patch) ** 2
    named = {
        "image_token": "<image_placeholder>",
        "boi_token": "<begin_of_image>",
        "eoi_token": "<end_of_image>",
    }
    tok = byte_tokenizer(
        named=named, template=chat_template(image="<image_placeholder>")
    )
    cfg = tf.JanusConfig(
        text_config=dict(model_type="llama", **llama(tok)),
        vision_config=dict(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            image_size=size,
            patch_size=patch,
            mlp_ratio=2.0,
            projection_dim=32,
            depth=2,
            num_image_tokens=n_tokens,
        ),
        # the decoder upsamples by 2 ** (len(channel_multiplier) - 1): 4 x 4 codes -> 32
        # x 32 pixels
        vq_config=dict(
            embed_dim=4,
            num_embeddings=64,
            latent_channels=32,
            base_channels=32,
            channel_multiplier=[1, 1, 1, 1],
            num_res_blocks=1,
            projection_dim=32,
            num_hidden_layers=2,
            image_token_embed_dim=32,
        ),
        image_token_id=tok.image_token_id,
    )
    proc = tf.JanusProcessor(
        image_processor=tf.JanusImageProcessorPil(
            size={"height": size, "width": size}, min_size=8
        ),
        tokenizer=tok,
        chat_template=tok.chat_template,
        num_image_tokens=n_tokens,
    )
    m = tf.JanusForConditionalGeneration(cfg)
    m.generation_config = generation_config(tok)
    # Image mode reads the begin-of-image id from generation_config.generation_kwargs.
    m.generation_config.generation_kwargs = {"boi_token_id": tok.boi_token_id}
    spread(m)
    save(out, m, proc)


@model
def chameleon(out: Path) -> None:
    """Reads interleaved images; HF masks image tokens in its output"""
    size, codes = 32, 64
    tok = byte_tokenizer(
        extra_tokens=[
            "IMGIMG" + "".join(chr(ord("A") + int(d)) for d in str(i)) + "Z"
            for i in range(codes)
        ],
        named={
            "image_token": "<image>",
            "boi_token": "<racm3:break>",
            "eoi_token": "<eoss>",
        },
        sep_token="<reserved08706>",
    )
    cfg = tf.ChameleonConfig(
        vocab_size=len(tok),
        **{**LM, "num_key_value_heads": 4},
        **ids(tok),
        vocabulary_map=tok.get_vocab(),
        # the encoder downsamples by 2 ** (len(channel_multiplier) - 1): 32 x 32 pixels
        # -> 4 x 4 codes
        vq_config=dict(
            embed_dim=8,
            num_embeddings=codes,
            latent_channels=8,
            resolution=size,
            base_channels=32,
            channel_multiplier=[1, 1, 1, 1],
            num_res_blocks=1,
        ),
    )
    eyes = tf.ChameleonImageProcessorPil(
        size={"shortest_edge": size}, crop_size={"height": size, "width": size}
    )
    proc = tf.ChameleonProcessor(
        image_processor=eyes, tokenizer=tok, image_seq_length=(size // 8) ** 2
    )
    save_talking(out, tf.ChameleonForConditionalGeneration(cfg), tok, proc)


@model
def emu3(out: Path) -> None:
    """One token stream holds text and image codes (interleaved output)"""
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
        extra_tokens=visual,
        named=named,
        bos="<|extra_203|>",
        eos="<|extra_204|>",
        pad="<|endoftext|>",
        template=chat_template(image="<image>", eos="<|extra_204|>"),
    )
    eyes = tf.Emu3ImageProcessor(
        min_pixels=32 * 32, max_pixels=64 * 64, spatial_factor=8
    )
    proc = tf.Emu3Processor(
        image_processor=eyes, tokenizer=tok, chat_template=tok.chat_template
    )
    cfg = tf.Emu3Config(
        text_config=dict(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=4096,
            attention_dropout=0.0,
            **ids(tok),
        ),
        vq_config=dict(
            codebook_size=codes,
            embed_dim=4,
            latent_channels=4,
            base_channels=32,
            channel_multiplier=[1, 1, 1, 1],
            num_res_blocks=1,
            attn_resolutions=[3],
            hidden_size=32,
            num_attention_heads=1,
            temporal_downsample_factor=4,
        ),
        vocabulary_map=tok.get_vocab(),
    )
    m = tf.Emu3ForConditionalGeneration(cfg)
    m.generation_config = generation_config(tok)
    # The block has the shape the real model writes: <start> H*W <wrapper> row ... <eol>
    # (H rows) <eof> <end>.
    rng = np.random.default_rng(SEED)
    rows = [
        "".join(visual[int(c)] for c in rng.integers(0, codes, grid))
        + named["eol_token"]
        for _ in range(grid)
    ]
    block = f"{named['boi_token']}{grid}*{grid}{named['image_wrapper_token']}{''.join(rows)}{named['eof_token']}"
    asked = [{"role": "user", "content": [{"type": "text", "text": "draw a square"}]}]
    prompt = tok.bos_token + proc.apply_chat_template(asked, add_generation_prompt=True)
    recite(
        m,
        tok,
        prompt,
        f"Here is one: {block}{named['eoi_token']} and done.{tok.eos_token}",
    )
    save(out, m, proc)


def recite(m, tok, prompt: str, answer: str) -> None:
    """Fit the model until it gives this answer."""
    full = tok(prompt + answer, return_tensors="pt", add_special_tokens=False)[
        "input_ids"
    ]
    start = tok(prompt, return_tensors="pt", add_special_tokens=False)[
        "input_ids"
    ].shape[1]
    labels = full.clone()
    labels[:, :start] = -100
    opt = torch.optim.AdamW(
        [p for n, p in m.named_parameters() if "vqmodel" not in n], lr=5e-3
    )
    m.train()
    for step in range(300):
        loss = m(input_ids=full, labels=labels).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if loss.item() < 5e-3:
            break
    m.eval()


def omni_tokens(
    image: str, audio: str, video: str, begin: str, end: str
) -> dict[str, str]:
    return {
        "image_token": image,
        "audio_token": audio,
        "video_token": video,
        **{
            f"{kind}_{side}_token": f"<|{kind}_{word}|>"
            for kind in ("vision", "audio")
            for side, word in (("bos", begin), ("eos", end))
        },
    }


@model
def qwen2_5_omni(out: Path) -> None:
    """Thinker (text) + talker + token2wav (speech)"""
    named = omni_tokens("<|IMAGE|>", "<|AUDIO|>", "<|VIDEO|>", "bos", "eos")
    template = chat_template(
        image="<|vision_bos|><|IMAGE|><|vision_eos|>",
        audio="<|audio_bos|><|AUDIO|><|audio_eos|>",
        video="<|vision_bos|><|VIDEO|><|vision_eos|>",
    )
    tts = ["<tts_start>", "<tts_end>", "<tts_pad>", "<|user|>"]
    tok = byte_tokenizer(extra_tokens=tts, named=named, template=template)
    tid = tok.convert_tokens_to_ids
    hidden, mel = 32, 80
    lm = dict(**LM, rope_parameters=QWEN_ROPE)
    shared = dict(
        audio_token_index=tid("<|AUDIO|>"),
        image_token_index=tid("<|IMAGE|>"),
        video_token_index=tid("<|VIDEO|>"),
        audio_start_token_id=tid("<|audio_bos|>"),
        audio_end_token_id=tid("<|audio_eos|>"),
        vision_start_token_id=tid("<|vision_bos|>"),
        vision_end_token_id=tid("<|vision_eos|>"),
    )
    cfg = tf.Qwen2_5OmniConfig(
        thinker_config=dict(
            text_config=dict(vocab_size=len(tok), **lm, **ids(tok)),
            vision_config=dict(
                **QWEN_VISION, window_size=16, fullatt_block_indexes=[1]
            ),
            audio_config=dict(
                **QWEN_EARS, max_source_positions=1500, n_window=100, output_dim=hidden
            ),
            user_token_id=tid("<|user|>"),
            **shared,
        ),
        talker_config=dict(
            vocab_size=64,
            embedding_size=hidden,
            head_dim=8,
            **lm,
            **shared,
            **{
                f"tts_text_{name}_token_id": tid(f"<tts_{name}>")
                for name in ("start", "end", "pad")
            },
            tts_codec_pad_token_id=60,
            tts_codec_start_token_id=61,
            tts_codec_end_token_id=62,
            tts_codec_mask_token_id=63,
            pad_token_id=60,
        ),
        token2wav_config=dict(
            dit_config=dict(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                head_dim=8,
                emb_dim=16,
                num_embeds=65,
                mel_dim=mel,
                look_ahead_layers=[1],
                look_backward_layers=[0],
                enc_emb_dim=8,
                enc_dim=8,
                enc_channels=[16, 16, 16, 16, 48],
                enc_attention_channels=8,
                enc_se_channels=8,
            ),
            bigvgan_config=dict(
                mel_dim=mel,
                upsample_initial_channel=64,
                resblock_kernel_sizes=[3],
                resblock_dilation_sizes=[[1, 3, 5]],
            ),
        ),
        enable_audio_output=True,
    )
    m = tf.Qwen2_5OmniForConditionalGeneration(cfg)
    spread(m.thinker.model)
    talk_on(m.thinker, tok)
    spread(m.talker)
    # otherwise every answer is the same silence
    amplify(m.token2wav.code2wav_dit_model, 10.0)
    amplify(m.token2wav.code2wav_bigvgan_model, 4.0)
    amplify(m.token2wav.code2wav_bigvgan_model.conv_post, 100.0)
    m.thinker.generation_config = generation_config(tok)
    save(out, m, tok)
    # Speakers live outside the weights; from_pretrained insists on this file.
    g = torch.Generator().manual_seed(SEED)
    speaker = {
        "cond": torch.randn(1, 8, generator=g),
        "ref_mel": torch.randn(1, 30, mel, generator=g),
    }
    torch.save(
        {"Chelsie": {"bos_token": tid("<tts_start>"), **speaker}}, out / "spk_dict.pt"
    )
    write_qwen_processor(out, "Qwen2_5OmniProcessor", feature_extractor=long_ears())


@model
def qwen3_omni(out: Path) -> None:
    """Experts in thinker and talker, codes in several books"""
    named = omni_tokens(
        "<|image_pad|>", "<|audio_pad|>", "<|video_pad|>", "start", "end"
    )
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
    tok = byte_tokenizer(
        extra_tokens=["<|im_start|>", *tts, *roles],
        named=named,
        eos="<|im_end|>",
        template=template,
    )
    tid = tok.convert_tokens_to_ids
    hidden, groups, codes = 32, 4, 64
    lm = dict(
        **LM,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=32,
        head_dim=8,
        rope_parameters={**QWEN_ROPE, "mrope_interleaved": True},
    )
    media = dict(
        audio_token_id=tid("<|audio_pad|>"),
        image_token_id=tid("<|image_pad|>"),
        video_token_id=tid("<|video_pad|>"),
        audio_start_token_id=tid("<|audio_start|>"),
        vision_start_token_id=tid("<|vision_start|>"),
    )
    cfg = tf.Qwen3OmniMoeConfig(
        thinker_config=dict(
            text_config=dict(vocab_size=len(tok), **lm, **ids(tok)),
            vision_config=dict(
                **QWEN_VISION, num_position_embeddings=64, deepstack_visual_indexes=[0]
            ),
            audio_config=dict(
                **QWEN_EARS, output_dim=hidden, downsample_hidden_size=16
            ),
            user_token_id=tid("user"),
            vision_end_token_id=tid("<|vision_end|>"),
            **media,
        ),
        # The last 1024 codes of the talker are marks, of which it may say the end
        # alone.
        talker_config=dict(
            text_config=dict(
                vocab_size=1024 + codes, shared_expert_intermediate_size=32, **lm
            ),
            code_predictor_config=dict(
                vocab_size=codes, head_dim=8, num_code_groups=groups, **LM
            ),
            num_code_groups=groups,
            thinker_hidden_size=hidden,
            accept_hidden_layer=1,
            spatial_merge_size=2,
            codec_eos_token_id=1070,
            codec_nothink_id=1071,
            codec_think_bos_id=1072,
            codec_think_eos_id=1073,
            codec_pad_id=1074,
            codec_bos_id=1075,
            speaker_id={"chelsie": 1080, "ethan": 1081},
            **media,
        ),
        code2wav_config=dict(
            codebook_size=codes,
            hidden_size=hidden,
            num_attention_heads=4,
            num_key_value_heads=4,
            intermediate_size=64,
            num_hidden_layers=2,
            num_quantizers=groups,
            upsample_rates=[4, 4],
            upsampling_ratios=[2, 2],
            decoder_dim=32,
        ),
        enable_audio_output=True,
        im_start_token_id=tid("<|im_start|>"),
        im_end_token_id=tid("<|im_end|>"),
        **{f"{mark.strip('<>')}_token_id": tid(mark) for mark in tts},
        **{f"{role}_token_id": tid(role) for role in roles},
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
    write_qwen_processor(out, "Qwen3OmniMoeProcessor", feature_extractor=long_ears())


@model
def vits(out: Path) -> None:
    """Text-to-speech, the smallest waveform generator"""
    symbols = ["<pad>", "<unk>"] + list(" abcdefghijklmnopqrstuvwxyz.,?!'-0123456789")
    (out / "vocab.json").write_text(json.dumps({c: i for i, c in enumerate(symbols)}))
    tok = tf.VitsTokenizer(
        str(out / "vocab.json"), phonemize=False, add_blank=True, language="eng"
    )
    cfg = tf.VitsConfig(
        vocab_size=len(symbols),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        ffn_dim=32,
        flow_size=16,
        spectrogram_bins=17,
        use_stochastic_duration_prediction=False,
        upsample_initial_channel=32,
        upsample_rates=[8, 8],
        upsample_kernel_sizes=[16, 16],
        resblock_kernel_sizes=[3],
        resblock_dilation_sizes=[[1, 3]],
        prior_encoder_num_flows=2,
        prior_encoder_num_wavenet_layers=2,
        posterior_encoder_num_wavenet_layers=2,
        wavenet_dilation_rate=1,
        duration_predictor_filter_channels=32,
        sampling_rate=16000,
    )
    save(out, tf.VitsModel(cfg), tok)


@model
def clap(out: Path) -> None:
    """Without feature fusion, its audio side as small as its pooling allows"""
    audio = dict(
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 2, 2, 2],
        patch_embeds_hidden_size=8,
        hidden_size=64,
        projection_dim=16,
        enable_fusion=False,
    )
    text = dict(
        vocab_size=300,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
    )
    m = tf.ClapModel(
        tf.ClapConfig(audio_config=audio, text_config=text, projection_dim=16)
    )
    amplify(m.audio_model, 6.0)
    save(out, m, tf.ClapFeatureExtractor(truncation="rand_trunc", padding="repeatpad"))


@model
def whisper(out: Path) -> None:
    """With the languages and marks of the large one, a byte-level tokenizer"""
    langs = [f"<|{code}|>" for code in ("en", "zh", "de")]
    marks = [
        "<|endoftext|>",
        "<|startoftranscript|>",
        *langs,
        "<|translate|>",
        "<|transcribe|>",
        "<|startoflm|>",
        "<|startofprev|>",
        "<|nospeech|>",
        "<|notimestamps|>",
    ]
    marks += [f"<|{k * 0.02:.2f}|>" for k in range(1501)]
    vocab = byte_vocab()
    vocab.update({mark: len(vocab) + at for at, mark in enumerate(marks)})
    tok = tf.WhisperTokenizer(
        vocab=vocab, merges=[], language="english", task="transcribe"
    )
    tok.add_tokens(marks, special_tokens=True)
    tid = tok.convert_tokens_to_ids
    shared = dict(
        decoder_start_token_id=tid("<|startoftranscript|>"),
        bos_token_id=tok.eos_token_id,
        eos_token_id=tok.eos_token_id,
        pad_token_id=tok.eos_token_id,
    )
    m = tf.WhisperForConditionalGeneration(
        tf.WhisperConfig(
            vocab_size=len(tok),
            num_mel_bins=16,
            d_model=16,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=32,
            decoder_ffn_dim=32,
            max_target_positions=24,
            suppress_tokens=None,
            begin_suppress_tokens=None,
            **shared,
        )
    )
    spread(m)
    amplify(m.model.encoder, 3.0)  # what it writes shall depend on what it hears
    m.generation_config = tf.GenerationConfig(
        max_length=24,
        is_multilingual=True,
        lang_to_id={name: tid(name) for name in langs},
        task_to_id={
            "transcribe": tid("<|transcribe|>"),
            "translate": tid("<|translate|>"),
        },
        no_timestamps_token_id=tid("<|notimestamps|>"),
        prev_sot_token_id=tid("<|startofprev|>"),
        max_initial_timestamp_index=50,
        return_timestamps=False,
        suppress_tokens=[],
        begin_suppress_tokens=[],
        **shared,
    )
    ears = tf.WhisperFeatureExtractor(feature_size=16)
    save(out, m, tf.WhisperProcessor(feature_extractor=ears, tokenizer=tok), ears)


SPEECH = dict(
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    conv_dim=[16] * 7,
    num_conv_pos_embeddings=16,
    num_conv_pos_embedding_groups=2,
    vocab_size=32,
    do_stable_layer_norm=False,
)


@model
def wavlm_sv(out: Path) -> None:
    """WavLM with an x-vector head, for speaker verification"""
    heads = dict(tdnn_dim=[16, 16, 16, 16, 24], xvector_output_dim=16, num_buckets=32)
    m = tf.WavLMForXVector(tf.WavLMConfig(**SPEECH, **heads))
    amplify(m, 4.0)
    save(
        out,
        m,
        tf.Wav2Vec2FeatureExtractor(do_normalize=False, return_attention_mask=True),
    )


@model
def wav2vec2_gender(out: Path) -> None:
    """wav2vec 2 with a classifier of two classes"""
    m = tf.Wav2Vec2ForSequenceClassification(
        tf.Wav2Vec2Config(**SPEECH, num_labels=2, classifier_proj_size=16)
    )
    amplify(m, 4.0)
    save(
        out,
        m,
        tf.Wav2Vec2FeatureExtractor(do_normalize=True, return_attention_mask=True),
    )


@model
def clip(out: Path) -> None:
    """CLIP, a vision and a text transformer"""
    size = 32
    tok = byte_tokenizer(
        bos="<|startoftext|>", eos="<|endoftext|>", pad="<|endoftext|>"
    )
    tok.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{tok.bos_token} $A {tok.eos_token}",
        special_tokens=[
            (tok.bos_token, tok.bos_token_id),
            (tok.eos_token, tok.eos_token_id),
        ],
    )
    text = dict(vocab_size=len(tok), **TINY, max_position_embeddings=77, **ids(tok))
    m = tf.CLIPModel(
        tf.CLIPConfig(
            vision_config=dict(**TINY, image_size=size, patch_size=8),
            text_config=text,
            projection_dim=16,
        )
    )
    amplify(m, 4.0)
    eyes = tf.CLIPImageProcessorPil(
        size={"shortest_edge": size}, crop_size={"height": size, "width": size}
    )
    save(out, m, tok, eyes)


Weights = dict[str, torch.Tensor]
FROZEN = np.random.RandomState(0)


def noise(*shape: int, scale: float = 0.2) -> torch.Tensor:
    """Noise that is the same with every version of every library: tests know what comes
    of it."""
    return torch.from_numpy(FROZEN.standard_normal(shape) * scale).float()


def linear(name: str, to: int, *of: int) -> Weights:
    return {f"{name}.weight": noise(to, *of), f"{name}.bias": noise(to)}


def norm(name: str, dim: int) -> Weights:
    return {f"{name}.weight": torch.ones(dim), f"{name}.bias": noise(dim)}


def batch_norm(name: str, dim: int) -> Weights:
    usual = norm(name, dim)
    running = {
        f"{name}.running_mean": noise(dim),
        f"{name}.running_var": 1 + noise(dim).abs(),
    }
    return {**usual, **running, f"{name}.num_batches_tracked": torch.tensor(1)}


def beat_layer(attention: str, feed_forward: str, dim: int, head_dim: int) -> Weights:
    heads = dim // head_dim
    return {
        f"{attention}.norm.gamma": torch.ones(dim),
        f"{attention}.to_qkv.weight": noise(3 * dim, dim),
        **linear(f"{attention}.to_gates", heads, dim),
        f"{attention}.to_out.0.weight": noise(dim, dim),
        f"{attention}.rotary_embed.freqs": 10000.0
        ** (-torch.arange(0, head_dim, 2).float() / head_dim),
        f"{feed_forward}.net.0.gamma": torch.ones(dim),
        **linear(f"{feed_forward}.net.1", 4 * dim, dim),
        **linear(f"{feed_forward}.net.4", dim, 4 * dim),
    }


def beat_weights(dim: int = 4, head_dim: int = 4, width: int = 8) -> Weights:
    """By the names of the released checkpoint."""
    w = batch_norm("frontend.stem.bn1d", 128)
    w["frontend.stem.conv2d.weight"] = noise(dim, 1, 4, 3)
    w |= batch_norm("frontend.stem.bn2d", dim)
    for number in range(3):
        name = f"frontend.blocks.{number}"
        for along in "FT":
            w |= beat_layer(
                f"{name}.partial.attn{along}",
                f"{name}.partial.ff{along}",
                dim,
                head_dim,
            )
        w[f"{name}.conv2d.weight"] = noise(2 * dim, dim, 2, 3)
        w |= batch_norm(f"{name}.norm", 2 * dim)
        dim *= 2
    w |= linear("frontend.linear", width, dim * 4)
    for number in range(2):
        name = f"transformer_blocks.layers.{number}"
        w |= beat_layer(f"{name}.0", f"{name}.1", width, head_dim)
    w["transformer_blocks.norm.gamma"] = torch.ones(width)
    return {**w, **linear("task_heads.beat_downbeat_lin", 2, width)}


@model
def beat_this(out: Path) -> None:
    """A checkpoint with the names of Beat This, of another width"""
    FROZEN.seed(0)
    state = {f"model.{name}": tensor for name, tensor in beat_weights().items()}
    torch.save(
        {"state_dict": state, "hyper_parameters": {"sum_head": True, "lr": 0.1}},
        out / "final0.ckpt",
    )


def vision_weights(width: int) -> Weights:
    """By the names that DINO gives to the parts of a vision transformer."""
    w = {
        "cls_token": noise(1, 1, width),
        "pos_embed": noise(1, 197, width),
        **norm("norm", width),
    }
    w |= linear("patch_embed.proj", width, 3, 16, 16)
    for name in ("blocks.0", "blocks.1"):
        w |= {**norm(f"{name}.norm1", width), **norm(f"{name}.norm2", width)}
        for part, to, of in (
            ("attn.qkv", 3, 1),
            ("attn.proj", 1, 1),
            ("mlp.fc1", 4, 1),
            ("mlp.fc2", 1, 4),
        ):
            w |= linear(f"{name}.{part}", to * width, of * width)
    return w


@model
def dreamsim(out: Path) -> None:
    """The files of DreamSim's ensemble, with narrow transformers"""
    FROZEN.seed(0)
    width, rank = 64, 4
    (out / "checkpoints").mkdir()
    (out / "ensemble_lora").mkdir()
    torch.save(
        vision_weights(width), out / "checkpoints" / "dino_vitbase16_pretrain.pth"
    )
    for name in ("clip_vitb16", "open_clip_vitb16"):
        weights = {
            **vision_weights(width),
            "proj": noise(width, 32),
            **norm("pos_drop", width),
        }
        del weights["patch_embed.proj.bias"]
        torch.save({"state_dict": weights}, out / f"{name}_pretrain.pth.tar")
    lora: Weights = {}
    for tower in range(3):
        for block in range(2):
            name = (
                f"base_model.model.extractor_list.{tower}.model.blocks.{block}.attn.qkv"
            )
            lora[f"{name}.lora_A.weight"] = noise(rank, width)
            lora[f"{name}.lora_B.weight"] = noise(3 * width, rank)
    save_file(lora, out / "ensemble_lora" / "adapter_model.safetensors")
    settings = {
        "r": rank,
        "lora_alpha": 2.0,
        "lora_dropout": 0.3,
        "bias": "none",
        "target_modules": ["qkv"],
    }
    (out / "ensemble_lora" / "adapter_config.json").write_text(json.dumps(settings))


def convolution(
    name: str, to: int, of: int, high: int, wide: int | None = None
) -> Weights:
    wide = wide or high
    return {
        f"{name}.weight": noise(
            to, of, high, wide, scale=(2 / (of * high * wide)) ** 0.5
        )
    }


@model
def resnet50(out: Path) -> None:
    """A narrow ResNet-50 with the names of timm"""
    FROZEN.seed(0)
    w = {**convolution("conv1", 4, 3, 7), **batch_norm("bn1", 4)}
    of = 4
    for stage, count in enumerate((3, 4, 6, 3), 1):
        inner, to = 2 * stage, 8 * stage
        for block in (f"layer{stage}.{number}" for number in range(count)):
            if of != to:
                w |= {
                    **convolution(f"{block}.downsample.0", to, of, 1),
                    **batch_norm(f"{block}.downsample.1", to),
                }
            for at, (many, few, side) in enumerate(
                ((inner, of, 1), (inner, inner, 3), (to, inner, 1)), 1
            ):
                w |= {
                    **convolution(f"{block}.conv{at}", many, few, side),
                    **batch_norm(f"{block}.bn{at}", many),
                }
            of = to
    save_file({**w, **linear("fc", 10, of)}, out / "model.safetensors")


INCEPTION = (
    ("5bcd", 4, "1x1:1 5x5_1:1 5x5_2:5 3x3dbl_1:1 3x3dbl_2:3 3x3dbl_3:3 _pool:1"),
    ("6a", 2, "3x3:3 3x3dbl_1:1 3x3dbl_2:3 3x3dbl_3:3"),
    (
        "6bcde",
        4,
        "1x1:1 7x7_1:1 7x7_2:1,7 7x7_3:7,1 7x7dbl_1:1 7x7dbl_2:7,1 7x7dbl_3:1,7 7x7dbl_4:7,1 7x7dbl_5:1,7 _pool:1",
    ),
    ("7a", 2, "3x3_1:1 3x3_2:3 7x7x3_1:1 7x7x3_2:1,7 7x7x3_3:7,1 7x7x3_4:3"),
    (
        "7bc",
        6,
        "1x1:1 3x3_1:1 3x3_2a:1,3 3x3_2b:3,1 3x3dbl_1:1 3x3dbl_2:3 3x3dbl_3a:1,3 3x3dbl_3b:3,1 _pool:1",
    ),
)
"""The blocks of Inception-v3: how many of the convolutions are ends, and the kernel of
each; all have two channels."""


@model
def inception_v3(out: Path) -> None:
    """A narrow Inception-v3 with the names of timm"""
    FROZEN.seed(0)
    w: Weights = {}

    def add(name: str, of: int, kernel: str) -> None:
        w.update(
            convolution(f"{name}.conv", 2, of, *map(int, kernel.split(",")))
            | batch_norm(f"{name}.bn", 2)
        )

    for at, name in enumerate(("1a_3x3", "2a_3x3", "2b_3x3", "3b_1x1", "4a_3x3")):
        add(f"Conv2d_{name}", 2 if at else 3, name[-1])
    of = 2
    for letters, ends, written in INCEPTION:
        for letter in letters[1:]:
            for step, kernel in (step.split(":") for step in written.split()):
                first = "_" not in step or step.endswith(("_1", "_pool"))
                add(
                    f"Mixed_{letters[0]}{letter}.branch{step}",
                    of if first else 2,
                    kernel,
                )
            of = 2 * ends + (0 if "_pool" in written else of)
    save_file(w, out / "model.safetensors")


@model
def lpips(out: Path) -> None:
    """A narrow AlexNet with heads for LPIPS, with the released names"""
    FROZEN.seed(0)
    trunk, heads, of = {}, {}, 3
    for number, (at, to, side) in enumerate(
        ((0, 4, 11), (3, 6, 5), (6, 8, 3), (8, 6, 3), (10, 6, 3))
    ):
        trunk |= {
            **convolution(f"features.{at}", to, of, side),
            f"features.{at}.bias": noise(to),
        }
        heads[f"lin{number}.model.1.weight"] = noise(1, to, 1, 1).abs()
        of = to
    torch.save(trunk, out / "alexnet-owt-7be5be79.pth")
    torch.save(heads, out / "alex.pth")


@model
def sd(out: Path) -> None:
    """Stable Diffusion pipeline (diffusers), for agents that call an image tool"""
    tok = byte_tokenizer(pad="</s>")
    tok.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        special_tokens=[("<s>", tok.bos_token_id), ("</s>", tok.eos_token_id)],
    )
    tok.padding_side, tok.model_max_length = "right", 77
    text = tf.CLIPTextModel(
        tf.CLIPTextConfig(
            vocab_size=len(tok),
            hidden_size=32,
            intermediate_size=37,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=77,
            **ids(tok),
        )
    )
    unet = diffusers.UNet2DConditionModel(
        block_out_channels=(4, 8),
        layers_per_block=1,
        sample_size=32,
        in_channels=4,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        norm_num_groups=2,
        attention_head_dim=2,
    )
    vae = diffusers.AutoencoderKL(
        block_out_channels=(4, 8),
        in_channels=3,
        out_channels=3,
        latent_channels=4,
        norm_num_groups=2,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )
    pipe = diffusers.StableDiffusionPipeline(
        vae=vae,
        text_encoder=text,
        tokenizer=tok,
        unet=unet,
        scheduler=diffusers.DDIMScheduler(
            clip_sample=False, set_alpha_to_one=False, beta_schedule="scaled_linear"
        ),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipe.save_pretrained(out)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder to fill, one subfolder per model",
    )
    out = p.parse_args().out
    torch.set_num_threads(2)
    for name, build in BUILDERS.items():
        shutil.rmtree(out / name, ignore_errors=True)
        (out / name).mkdir(parents=True)
        tf.set_seed(SEED)
        build(out / name)


if __name__ == "__main__":
    main()
