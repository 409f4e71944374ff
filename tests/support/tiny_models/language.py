"""Tiny models that answer, in words, pictures or speech: builders of
build.py."""

import json
from pathlib import Path
from typing import Any

# Comes first: it sets the environment that the libraries read.
from tests.support.tiny_models.parts import (
    LM,
    QWEN_EARS,
    QWEN_ROPE,
    QWEN_VISION,
    SEED,
    TINY,
    amplify,
    byte_tokenizer,
    chat_template,
    generation_config,
    ids,
    llama,
    long_ears,
    model,
    save,
    save_talking,
    spread,
    talk_on,
)

import numpy as np
import torch
import transformers as tf


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
