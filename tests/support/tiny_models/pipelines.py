"""Tiny pipelines of diffusers, one of each kind, for build.py: random weights
of real classes in diffusers' own folder layout."""

from pathlib import Path
from typing import Any

import diffusers
import transformers as tf
from tests.support.tiny_models.parts import amplify, byte_tokenizer, ids, model
from tokenizers import processors


def clip_tokenizer() -> Any:
    """Bytes between a start and an end, at most 77."""
    tok = byte_tokenizer(pad="</s>")
    tok.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        special_tokens=[("<s>", tok.bos_token_id), ("</s>", tok.eos_token_id)],
    )
    tok.padding_side, tok.model_max_length = "right", 77
    return tok


def clip_text(tok: Any) -> Any:
    config = tf.CLIPTextConfig(
        vocab_size=len(tok),
        hidden_size=32,
        intermediate_size=37,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=77,
        **ids(tok),
    )
    return tf.CLIPTextModel(config)


def unet(in_channels: int) -> Any:
    return diffusers.UNet2DConditionModel(
        block_out_channels=(4, 8),
        layers_per_block=1,
        sample_size=32,
        in_channels=in_channels,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        norm_num_groups=2,
        attention_head_dim=2,
    )


def vae() -> Any:
    return diffusers.AutoencoderKL(
        block_out_channels=(4, 8),
        in_channels=3,
        out_channels=3,
        latent_channels=4,
        norm_num_groups=2,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )


def ddim() -> Any:
    return diffusers.DDIMScheduler(
        clip_sample=False, set_alpha_to_one=False, beta_schedule="scaled_linear"
    )


def stable_diffusion(kind: Any, in_channels: int) -> Any:
    tok = clip_tokenizer()
    return kind(
        vae=vae(),
        text_encoder=clip_text(tok),
        tokenizer=tok,
        unet=unet(in_channels),
        scheduler=ddim(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


@model
def sd(out: Path) -> None:
    """A picture from words"""
    kind = diffusers.StableDiffusionPipeline
    stable_diffusion(kind, in_channels=4).save_pretrained(out)


@model
def sd_edit(out: Path) -> None:
    """Edits one picture as words say"""
    kind = diffusers.StableDiffusionInstructPix2PixPipeline
    stable_diffusion(kind, in_channels=8).save_pretrained(out)


@model
def sd_img2img(out: Path) -> None:
    """A picture from a picture and words, with a strength"""
    kind = diffusers.StableDiffusionImg2ImgPipeline
    stable_diffusion(kind, in_channels=4).save_pretrained(out)


@model
def flux2(out: Path) -> None:
    """A picture from words and any number of pictures"""
    tok = byte_tokenizer(
        template="{% for m in messages %}{{ m['content'] }}{% endfor %}"
    )
    # The pipeline reads the layers 9, 18 and 27.
    config = tf.Qwen3Config(
        vocab_size=len(tok),
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=28,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=4,
        **ids(tok),
    )
    transformer = diffusers.Flux2Transformer2DModel(
        patch_size=1,
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=24,
        timestep_guidance_channels=16,
        axes_dims_rope=[4, 4, 4, 4],
        guidance_embeds=False,
    )
    coder = diffusers.AutoencoderKLFlux2(
        sample_size=32,
        down_block_types=("DownEncoderBlock2D",),
        up_block_types=("UpDecoderBlock2D",),
        block_out_channels=(4,),
        layers_per_block=1,
        latent_channels=1,
        norm_num_groups=1,
        use_quant_conv=False,
        use_post_quant_conv=False,
    )
    pipe = diffusers.Flux2KleinPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=coder,
        text_encoder=tf.Qwen3ForCausalLM(config),
        tokenizer=tok,
        transformer=transformer,
    )
    pipe.save_pretrained(out)


def t5(kind: Any, tok: Any) -> Any:
    config = tf.T5Config if kind is tf.T5EncoderModel else tf.UMT5Config
    return kind(
        config(
            vocab_size=len(tok),
            d_model=32,
            d_kv=8,
            d_ff=37,
            num_layers=2,
            num_heads=4,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
        )
    )


def t5_tokenizer(most: int) -> Any:
    tok = byte_tokenizer()
    tok.padding_side, tok.model_max_length = "right", most
    return tok


@model
def wan(out: Path) -> None:
    """A video from words"""
    tok = t5_tokenizer(512)
    pipe = diffusers.WanPipeline(
        tokenizer=tok,
        text_encoder=t5(tf.UMT5EncoderModel, tok),
        vae=diffusers.AutoencoderKLWan(
            base_dim=3,
            z_dim=16,
            dim_mult=[1, 1, 1, 1],
            num_res_blocks=1,
            temperal_downsample=[False, True, True],
        ),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=7.0),
        transformer=diffusers.WanTransformer3DModel(
            patch_size=(1, 2, 2),
            num_attention_heads=2,
            attention_head_dim=12,
            in_channels=16,
            out_channels=16,
            text_dim=32,
            freq_dim=32,
            ffn_dim=32,
            num_layers=1,
            cross_attn_norm=True,
            qk_norm="rms_norm_across_heads",
            rope_max_seq_len=32,
        ),
    )
    pipe.save_pretrained(out)


@model
def ltx_i2v(out: Path) -> None:
    """A video from a picture and words"""
    tok = t5_tokenizer(128)
    four, five = (8,) * 4, (1,) * 5
    coder = diffusers.AutoencoderKLLTXVideo(
        latent_channels=8,
        block_out_channels=four,
        decoder_block_out_channels=four,
        layers_per_block=five,
        decoder_layers_per_block=five,
        spatio_temporal_scaling=(True, True, False, False),
        decoder_spatio_temporal_scaling=(True, True, False, False),
        decoder_inject_noise=(False,) * 5,
        upsample_residual=(False,) * 4,
        upsample_factor=(1,) * 4,
        timestep_conditioning=False,
        patch_size=1,
        patch_size_t=1,
        encoder_causal=True,
        decoder_causal=False,
    )
    pipe = diffusers.LTXImageToVideoPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=coder,
        text_encoder=t5(tf.T5EncoderModel, tok),
        tokenizer=tok,
        transformer=diffusers.LTXVideoTransformer3DModel(
            in_channels=8,
            out_channels=8,
            patch_size=1,
            patch_size_t=1,
            num_attention_heads=4,
            attention_head_dim=8,
            cross_attention_dim=32,
            num_layers=1,
            caption_channels=32,
        ),
    )
    pipe.save_pretrained(out)


@model
def stable_audio(out: Path) -> None:
    """A sound of two channels from words"""
    tok = t5_tokenizer(128)
    coder = diffusers.AutoencoderOobleck(
        encoder_hidden_size=6,
        downsampling_ratios=[1, 2],
        decoder_channels=3,
        decoder_input_channels=3,
        audio_channels=2,
        channel_multiples=[2, 4],
        sampling_rate=8000,
    )
    amplify(coder, 4.0)
    pipe = diffusers.StableAudioPipeline(
        vae=coder,
        text_encoder=t5(tf.T5EncoderModel, tok),
        projection_model=diffusers.StableAudioProjectionModel(
            text_encoder_dim=32, conditioning_dim=4, min_value=0, max_value=32
        ),
        tokenizer=tok,
        transformer=diffusers.StableAudioDiTModel(
            sample_size=1000,
            in_channels=3,
            num_layers=2,
            attention_head_dim=4,
            num_attention_heads=2,
            num_key_value_attention_heads=2,
            out_channels=3,
            cross_attention_dim=4,
            time_proj_dim=8,
            global_states_input_dim=8,
            cross_attention_input_dim=4,
        ),
        scheduler=diffusers.EDMDPMSolverMultistepScheduler(
            solver_order=2,
            prediction_type="v_prediction",
            sigma_data=1.0,
            sigma_schedule="exponential",
        ),
    )
    pipe.save_pretrained(out)


@model
def stable_video(out: Path) -> None:
    """A video from a picture without words"""
    net = diffusers.UNetSpatioTemporalConditionModel(
        block_out_channels=(32, 32),
        layers_per_block=1,
        sample_size=32,
        in_channels=8,
        out_channels=4,
        down_block_types=(
            "CrossAttnDownBlockSpatioTemporal",
            "DownBlockSpatioTemporal",
        ),
        up_block_types=("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"),
        cross_attention_dim=32,
        num_attention_heads=8,
        projection_class_embeddings_input_dim=96,
        addition_time_embed_dim=32,
    )
    vision = tf.CLIPVisionModelWithProjection(
        tf.CLIPVisionConfig(
            hidden_size=32,
            projection_dim=32,
            num_hidden_layers=1,
            num_attention_heads=4,
            image_size=224,
            intermediate_size=37,
            patch_size=56,
        )
    )
    coder = diffusers.AutoencoderKLTemporalDecoder(
        block_out_channels=(32, 32),
        down_block_types=("DownEncoderBlock2D",) * 2,
        latent_channels=4,
    )
    pipe = diffusers.StableVideoDiffusionPipeline(
        vae=coder,
        image_encoder=vision,
        unet=net,
        scheduler=diffusers.EulerDiscreteScheduler(
            interpolation_type="linear",
            prediction_type="v_prediction",
            timestep_type="continuous",
            use_karras_sigmas=True,
        ),
        feature_extractor=tf.CLIPImageProcessorPil(
            crop_size=224, size={"shortest_edge": 224}
        ),
    )
    pipe.save_pretrained(out)
