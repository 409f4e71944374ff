"""Tiny models that translate text and speech (SeamlessM4T), one of each version.

build.py registers and builds them.
"""

import string
from pathlib import Path
from typing import Any

from tests.support.tiny_models.parts import amplify, ids, model, save, spread

import torch
import transformers as tf

LANGUAGES = ("eng", "fra", "deu", "cmn")
"""Languages of the text. All but the last can be spoken."""
SYMBOLS = "▁" + string.ascii_lowercase + ".,?!'"
UNITS = 40
"""Number of speech units. Four control tokens precede them, and languages follow."""
UNIT_CONTROL = 4
UNIT_LANGUAGES = UNIT_CONTROL + UNITS
SIZES: dict[str, Any] = dict(
    hidden_size=16,
    initializer_range=0.1,
    tie_word_embeddings=False,
    max_position_embeddings=256,
    encoder_layers=1,
    encoder_ffn_dim=32,
    encoder_attention_heads=2,
    decoder_layers=1,
    decoder_ffn_dim=32,
    decoder_attention_heads=2,
    speech_encoder_layers=1,
    speech_encoder_attention_heads=2,
    speech_encoder_intermediate_size=32,
    conv_depthwise_kernel_size=3,
    t2u_vocab_size=UNIT_LANGUAGES + len(LANGUAGES),
    t2u_encoder_layers=1,
    t2u_encoder_ffn_dim=32,
    t2u_encoder_attention_heads=2,
    t2u_decoder_layers=1,
    t2u_decoder_ffn_dim=32,
    t2u_decoder_attention_heads=2,
    unit_hifi_gan_vocab_size=UNITS,
    unit_embed_dim=16,
    lang_embed_dim=8,
    spkr_embed_dim=8,
    vocoder_num_langs=3,
    vocoder_num_spkrs=3,
    upsample_initial_channel=16,
    upsample_rates=[5, 4],
    upsample_kernel_sizes=[11, 8],
    resblock_kernel_sizes=[3],
    resblock_dilation_sizes=[[1, 3]],
    sampling_rate=16000,
)


@model
def seamless_m4t(out: Path) -> None:
    """Text or speech to text and speech, with units that are written one by one"""
    tok = translator_tokenizer()
    config = tf.SeamlessM4TConfig(
        vocab_size=len(tok), t2u_max_new_tokens=24, **SIZES, **ids(tok)
    )
    save_translator(out, tf.SeamlessM4TModel(config), tok)


@model
def seamless_m4t_v2(out: Path) -> None:
    """Text or speech to text and speech, with units that are predicted at once"""
    tok = translator_tokenizer()
    config = tf.SeamlessM4Tv2Config(
        vocab_size=len(tok),
        char_vocab_size=len(SYMBOLS) + 4,
        t2u_variance_predictor_embed_dim=16,
        t2u_variance_predictor_hidden_dim=8,
        **SIZES,
        **ids(tok),
    )
    save_translator(out, tf.SeamlessM4Tv2Model(config), tok)


def translator_tokenizer() -> Any:
    """One token for each letter, and one for each language."""
    control = ("<pad>", "<unk>", "<s>", "</s>")
    vocab = {symbol: number for number, symbol in enumerate((*control, *SYMBOLS))}
    return tf.SeamlessM4TTokenizer(
        vocab=vocab,
        merges=[],
        additional_special_tokens=[f"__{name}__" for name in LANGUAGES],
    )


def save_translator(out: Path, m: Any, tok: Any) -> None:
    spoken = LANGUAGES[:-1]
    codes = {name: tok.convert_tokens_to_ids(f"__{name}__") for name in LANGUAGES}
    # the library reads these maps from generation_config.json
    m.generation_config = tf.GenerationConfig(
        **ids(tok),
        decoder_start_token_id=tok.eos_token_id,
        max_new_tokens=16,
        text_decoder_lang_to_code_id=codes,
        t2u_lang_code_to_id={
            name: UNIT_LANGUAGES + at for at, name in enumerate(spoken)
        },
        vocoder_lang_code_to_id={name: at for at, name in enumerate(spoken)},
        id_to_text={str(at): text for text, at in tok.get_vocab().items()},
        char_to_id={symbol: 4 + at for at, symbol in enumerate(SYMBOLS)},
    )
    spread(m.text_encoder)
    spread(m.text_decoder)
    amplify(m.t2u_model.model, 2.5)
    with torch.no_grad():
        # words are likelier than control tokens, of which no letter is left
        m.lm_head.weight[tok.all_special_ids] = 0.0
        # the vocoder fails for control tokens other than padding (1) and the end (2)
        m.t2u_model.lm_head.weight[[0, 3]] = 0.0
        m.t2u_model.lm_head.weight[UNIT_LANGUAGES:] = 0.0
    features = tf.SeamlessM4TFeatureExtractor()
    save(out, m, tf.SeamlessM4TProcessor(features, tok))
