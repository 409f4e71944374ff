"""Builds tiny models that make sounds: music, speech in a given voice, and sounds from
several models in a row."""

import json
from pathlib import Path

from tests.support.tiny_models.parts import (
    amplify,
    byte_tokenizer,
    ids,
    model,
    save,
    spread,
)

import numpy as np
import torch
import transformers as tf

CODES = 16
"""Number of codes in a codebook."""
CODEC = dict(
    num_filters=4,
    hidden_size=8,
    codebook_size=CODES,
    codebook_dim=8,
    kernel_size=3,
    last_kernel_size=3,
    num_lstm_layers=1,
    num_residual_layers=1,
    sampling_rate=16000,
    upsampling_ratios=[8, 5, 4],
)
"""A codec with 100 frames a second."""


def encodec() -> tf.EncodecConfig:
    # 4 codebooks of 16 codes at 100 frames a second need 1.6 kbit a second
    return tf.EncodecConfig(**CODEC, target_bandwidths=[1.6], normalize=False)


def loud(codec: torch.nn.Module, factor: float) -> None:
    """Spreads the codebooks, so that different codes are different sounds."""
    with torch.no_grad():
        for name, values in codec.named_buffers():
            if name.endswith(("embed", "embed_sum")):
                values.normal_()
    amplify(codec, factor)


@model
def musicgen(out: Path) -> None:
    """Music from words: a text encoder, a decoder of delayed codebooks and a codec"""
    tok = byte_tokenizer()
    text = tf.T5Config(
        vocab_size=len(tok),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        pad_token_id=tok.pad_token_id,
        eos_token_id=tok.eos_token_id,
    )
    decoder = tf.MusicgenDecoderConfig(
        vocab_size=CODES,
        hidden_size=16,
        ffn_dim=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_codebooks=4,
        max_position_embeddings=512,
        pad_token_id=CODES,
        bos_token_id=CODES,
    )
    config = tf.MusicgenConfig(
        text_encoder=text,
        audio_encoder=encodec(),
        decoder=decoder,
    )
    m = tf.MusicgenForConditionalGeneration(config)
    spread(m.decoder)
    loud(m.audio_encoder, 1.2)
    m.generation_config = tf.GenerationConfig(
        do_sample=True,
        guidance_scale=3.0,
        max_length=40,
        bos_token_id=CODES,
        pad_token_id=CODES,
        decoder_start_token_id=CODES,
    )
    ears = tf.EncodecFeatureExtractor(feature_size=1, sampling_rate=16000)
    save(out, m, tf.MusicgenProcessor(ears, tok))


SPOKEN_TURNS = (
    "{% for m in messages %}"
    "{% set kinds = m['content'] | map(attribute='type') | list %}"
    "{% if not loop.last and kinds | sort != ['audio', 'text'] %}"
    "{{ raise_exception('a turn before the last has one text and one sound') }}"
    "{% endif %}"
    "{% for p in m['content'] %}"
    "{% if p['type'] == 'text' %}"
    "{{ bos_token }}[{{ m['role'] }}]{{ p['text'] }}<|end_of_text|>"
    "{% else %}<|AUDIO|><|audio_eos|>{% endif %}"
    "{% endfor %}{% endfor %}"
)
"""A turn names its speaker by a number; all but the last turn are heard."""


@model
def csm(out: Path) -> None:
    """Speech in the voice of a recording: a backbone, a depth decoder and a codec"""
    tok = byte_tokenizer(
        extra_tokens=["<|AUDIO|>", "<|audio_eos|>", "<|end_of_text|>"],
        bos="<|begin_of_text|>",
        eos="<|end_of_text|>",
        template=SPOKEN_TURNS,
    )
    audio, audio_end = tok.convert_tokens_to_ids(["<|AUDIO|>", "<|audio_eos|>"])
    layers = dict(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    codec = tf.MimiConfig(
        hidden_size=16,
        num_filters=2,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=32,
        codebook_size=CODES,
        codebook_dim=8,
        vector_quantization_hidden_dimension=8,
        num_quantizers=3,
        upsample_groups=16,
        sliding_window=50,
    )
    # random weights draw any code, and the codec must know it
    codes = dict(num_codebooks=3, vocab_size=CODES)
    config = tf.CsmConfig(
        **layers,
        **codes,
        max_position_embeddings=256,
        text_vocab_size=len(tok),
        codebook_pad_token_id=CODES - 1,
        codebook_eos_token_id=0,
        bos_token_id=tok.bos_token_id,
        pad_token_id=tok.pad_token_id,
        audio_token_id=audio,
        audio_eos_token_id=audio_end,
        depth_decoder_config=dict(**layers, **codes, backbone_hidden_size=16),
        codec_config=codec.to_dict(),
    )
    m = tf.CsmForConditionalGeneration(config)
    spread(m.backbone_model)
    spread(m.depth_decoder)
    amplify(m.lm_head, 20.0)
    loud(m.codec_model, 0.5)
    amplify(m.codec_model.encoder, 8.0)  # what it hears shall matter
    m.generation_config = tf.GenerationConfig(do_sample=True, max_new_tokens=20)
    m.depth_decoder.generation_config = tf.GenerationConfig(
        do_sample=True,
        min_new_tokens=2,
        max_new_tokens=2,
    )
    ears = tf.EncodecFeatureExtractor(feature_size=1, sampling_rate=24000)
    save(out, m, tf.CsmProcessor(ears, tok, chat_template=SPOKEN_TURNS))


@model
def bark(out: Path) -> None:
    """Speech by three models in a row and a codec, with two voices"""
    tok = byte_tokenizer()
    words, text_offset = 32, 40
    text_pad = text_offset + len(tok)
    coarse_pad = words + 2 * CODES
    layers = dict(hidden_size=16, num_layers=1, num_heads=2, block_size=128)
    semantic = tf.BarkSemanticConfig(
        **layers,
        input_vocab_size=text_pad + 2,
        output_vocab_size=text_offset,
    )
    coarse = tf.BarkCoarseConfig(
        **layers,
        input_vocab_size=coarse_pad + 2,
        output_vocab_size=coarse_pad + 2,
    )
    fine = tf.BarkFineConfig(
        **layers,
        input_vocab_size=CODES + 1,
        output_vocab_size=CODES + 1,
        n_codes_total=4,
        n_codes_given=1,
    )
    config = tf.BarkConfig(
        semantic_config=semantic.to_dict(),
        coarse_acoustics_config=coarse.to_dict(),
        fine_acoustics_config=fine.to_dict(),
        codec_config=encodec().to_dict(),
    )
    m = tf.BarkModel(config)
    for part in (m.semantic, m.coarse_acoustics, m.fine_acoustics):
        amplify(part, 40.0)
    loud(m.codec_model, 1.2)
    m.generation_config = tf.GenerationConfig(
        semantic_config=dict(
            do_sample=True,
            max_new_tokens=12,
            eos_token_id=words,
            semantic_vocab_size=words,
            text_encoding_offset=text_offset,
            text_pad_token=text_pad,
            semantic_infer_token=text_pad + 1,
            max_input_semantic_length=64,
            semantic_rate_hz=50,
        ),
        coarse_acoustics_config=dict(
            do_sample=True,
            coarse_semantic_pad_token=coarse_pad,
            coarse_infer_token=coarse_pad + 1,
            coarse_rate_hz=100,
            max_coarse_input_length=16,
            max_coarse_history=32,
            sliding_window_len=8,
        ),
        fine_acoustics_config=dict(
            max_fine_history_length=8,
            max_fine_input_length=16,
            n_fine_codebooks=4,
        ),
        sample_rate=16000,
        codebook_size=CODES,
    )
    save(out, m, tf.BarkProcessor(tok))
    voices = {"repo_or_path": "."}
    draws = np.random.RandomState(0)
    for name in ("low", "high"):
        voices[name] = {}
        for prompt, codes, shape in (
            ("semantic_prompt", words, (10,)),
            ("coarse_prompt", CODES, (2, 20)),
            ("fine_prompt", CODES, (4, 20)),
        ):
            file = f"{name}_{prompt}.npy"
            np.save(out / file, draws.randint(0, codes, shape))
            voices[name][prompt] = file
    (out / "speaker_embeddings_path.json").write_text(json.dumps(voices))


@model
def moshi(out: Path) -> None:
    """Speech in, speech and its text out: a backbone, a depth decoder and a codec"""
    tok = byte_tokenizer()
    layers = dict(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, ffn_dim=32
    )
    codec = dict(
        model_type="mimi",
        hidden_size=16,
        num_filters=2,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=8,
        intermediate_size=32,
        codebook_size=CODES,
        codebook_dim=8,
        vector_quantization_hidden_dimension=8,
        num_quantizers=3,
        upsample_groups=16,
        sliding_window=50,
    )
    config = tf.MoshiConfig(
        **layers,
        **ids(tok),
        vocab_size=len(tok),
        num_codebooks=3,
        max_position_embeddings=128,
        sliding_window=128,
        audio_encoder_config=codec,
        depth_decoder_config=dict(layers),
    )
    m = tf.MoshiForConditionalGeneration(config)
    spread(m.decoder)
    spread(m.depth_decoder)
    loud(m.audio_encoder, 0.5)
    amplify(m.audio_encoder.encoder, 8.0)  # what it hears shall matter
    m.generation_config = tf.GenerationConfig(
        do_sample=True,
        max_new_tokens=10,
        pad_token_id=tok.pad_token_id,
    )
    save(out, m, tok, tf.EncodecFeatureExtractor(feature_size=1, sampling_rate=24000))
