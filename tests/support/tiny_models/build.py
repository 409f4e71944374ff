"""Builds tiny, randomly initialised Hugging Face models for offline tests:
python -m tests.support.tiny_models.build --out FOLDER

Nothing is downloaded: every configuration, vocabulary, chat template and processor is
written in this folder, and weights come from a seeded random initialisation. Each model
is saved with ``save_pretrained`` next to its tokenizer or processor. Their outputs are
noise, except that ``emu3`` is fitted for a few seconds to recite one interleaved
answer.
"""

import argparse
import json
import shutil
from pathlib import Path

# These come first: they set the environment that the libraries read.
import tests.support.tiny_models.language  # noqa: F401  registers its builders
import tests.support.tiny_models.pipelines  # noqa: F401  likewise
import tests.support.tiny_models.sounds  # noqa: F401  likewise
import tests.support.tiny_models.translators  # noqa: F401  likewise
from tests.support.tiny_models.parts import (
    BUILDERS,
    SEED,
    TINY,
    amplify,
    byte_tokenizer,
    byte_vocab,
    ids,
    model,
    save,
    spread,
)

import numpy as np
import torch
import transformers as tf
from safetensors.torch import save_file
from tokenizers import processors


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
