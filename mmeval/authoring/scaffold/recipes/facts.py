"""The facts of each research model that has a recipe, with their sources."""

from __future__ import annotations

from dataclasses import dataclass

from mmeval.backend import OutputMode
from mmeval.errors import UnknownNameError
from mmeval.media import PartKind


@dataclass(frozen=True)
class Weights:
    """A checkpoint, and its folder below ``weights``."""

    folder: str
    hub_id: str
    """Its name on the Hugging Face Hub, or nothing if it is not there."""
    files: str = ""
    """The files that are needed, or nothing for all."""


@dataclass(frozen=True)
class Recipe:
    """A research model, and how its worker runs it."""

    name: str
    """The value of ``--recipe``."""
    title: str
    repository: str
    """``owner/name`` on GitHub."""
    commit: str
    """The commit that the worker is written for."""
    weights: tuple[Weights, ...]
    code_licence: str
    weights_licence: str
    memory: str
    """The memory of the device, as the repository states it."""
    python: str
    requirements: tuple[str, ...]
    """What the worker needs, pinned as the repository pins it."""
    takes: tuple[PartKind, ...]
    gives: tuple[PartKind, ...]
    mode: OutputMode
    draws_from_pictures: bool = True
    """False if a prompt for a picture may contain only text."""
    limits: tuple[str, ...] = ()
    """What the model or its repository cannot do, one sentence each."""
    folder: str = ""
    """The folder of the repository that its modules are imported from."""
    installed_later: tuple[str, ...] = ()
    """Arguments of further calls of ``pip install``, after the requirements."""


RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name="bagel",
        title="BAGEL-7B-MoT",
        repository="ByteDance-Seed/Bagel",
        commit="056b5fd51a88c1eb4547318609e25d40080fcf87",
        weights=(Weights("model", "ByteDance-Seed/BAGEL-7B-MoT"),),
        code_licence="Apache-2.0",
        weights_licence="Apache-2.0",
        memory="32 GB",
        python="3.10",
        requirements=(
            "accelerate>=0.34.0",
            "decord==0.6.0",
            "einops==0.8.1",
            "huggingface_hub==0.29.1",
            "numpy==1.24.4",
            "opencv_python==4.7.0.72",
            "pyarrow==11.0.0",
            "PyYAML==6.0.2",
            "safetensors==0.4.5",
            "scipy==1.10.1",
            "sentencepiece==0.1.99",
            "torch==2.5.1",
            "torchvision==0.20.1",
            "transformers==4.49.0",
            "Pillow",
        ),
        takes=("text", "image"),
        gives=("text", "image"),
        mode="exclusive",
        limits=("One picture for each answer with pictures.",),
        installed_later=("flash_attn==2.5.8 --no-build-isolation",),
    ),
    Recipe(
        name="emu35",
        title="Emu3.5",
        repository="baaivision/Emu3.5",
        commit="8fcf1da48f9c5252fe0a0b8dc842e07b6efcd745",
        weights=(
            Weights("model", "BAAI/Emu3.5"),
            Weights("vision_tokenizer", "BAAI/Emu3.5-VisionTokenizer"),
        ),
        code_licence="Apache-2.0",
        weights_licence="see the model card",
        memory="not stated; two GPUs are recommended",
        python="3.12",
        requirements=(
            "torch>=2.6.0",
            "torchvision>=0.15.0",
            "torchaudio>=2.0.0",
            "transformers==4.48.2",
            "accelerate>=0.20.0",
            "pillow>=9.0.0",
            "numpy>=1.21.0",
            "tqdm>=4.64.0",
            "protobuf>=3.20.0",
            "tiktoken>=0.12.0",
            "imageio==2.37.0",
            "imageio-ffmpeg==0.6.0",
            "omegaconf==2.3.0",
        ),
        takes=("text", "image"),
        gives=("text", "image"),
        mode="interleaved",
        limits=(
            "max_tokens applies to answers of text alone.",
            "An answer of text alone is the text of an answer with pictures.",
            "A picture may take minutes.",
        ),
        installed_later=("flash_attn==2.8.3 --no-build-isolation",),
    ),
    Recipe(
        name="show_o2",
        title="Show-o2-7B",
        repository="showlab/Show-o",
        commit="45a5a2de01d1ebd10cd5864d29310a76476cdf23",
        folder="show-o2",
        weights=(
            Weights("model", "showlab/show-o2-7B"),
            Weights("vae", "Wan-AI/Wan2.1-T2V-14B", files="Wan2.1_VAE.pth"),
        ),
        code_licence="Apache-2.0",
        weights_licence="see the model card",
        memory="not stated",
        python="3.10",
        requirements=(
            "torch==2.5.1",
            "torchvision==0.20.1",
            "transformers==4.47.0",
            "diffusers==0.31.0",
            "einops==0.8.0",
            "sentencepiece",
            "omegaconf",
            "torchdiffeq",
            "accelerate==0.23.0",
            "timm==1.0.12",
            "huggingface-hub==0.24.0",
            "numpy",
            "Pillow",
        ),
        takes=("text", "image"),
        gives=("text", "image"),
        mode="exclusive",
        draws_from_pictures=False,
        limits=(
            "One picture of 432 x 432 pixels for each answer with pictures.",
            "The repository's filter of unsafe pictures is not used.",
            "The first load fetches Qwen/Qwen2.5-7B-Instruct and "
            "google/siglip-so400m-patch14-384 from the Hub.",
        ),
        installed_later=("flash-attn --no-build-isolation",),
    ),
    Recipe(
        name="janus_flow",
        title="JanusFlow-1.3B",
        repository="deepseek-ai/Janus",
        commit="1daa72fa409002d40931bd7b36a9280362469ead",
        weights=(
            Weights("model", "deepseek-ai/JanusFlow-1.3B"),
            Weights("decoder", "stabilityai/sdxl-vae"),
        ),
        code_licence="MIT",
        weights_licence="DeepSeek Model License",
        memory="not stated",
        python="3.9",
        requirements=(
            "torch==2.0.1",
            "transformers>=4.38.2",
            "timm>=0.9.16",
            "accelerate",
            "sentencepiece",
            "attrdict",
            "einops",
            "diffusers",
            "numpy<2",
            "Pillow",
        ),
        takes=("text", "image"),
        gives=("text", "image"),
        mode="exclusive",
        draws_from_pictures=False,
        limits=("One picture of 384 x 384 pixels for each answer with pictures.",),
    ),
    Recipe(
        name="omnigen2",
        title="OmniGen2",
        repository="VectorSpaceLab/OmniGen2",
        commit="0f72fa92564d9f8ba76f53fcc3c05aca2372458f",
        weights=(Weights("model", "OmniGen2/OmniGen2"),),
        code_licence="Apache-2.0",
        weights_licence="see the model card",
        memory="17 GB",
        python="3.11",
        requirements=(
            "torch==2.6.0",
            "torchvision==0.21.0",
            "timm",
            "einops",
            "accelerate",
            "transformers==4.51.3",
            "diffusers",
            "opencv-python-headless",
            "scipy",
            "matplotlib",
            "Pillow",
            "tqdm",
            "omegaconf",
            "python-dotenv",
        ),
        takes=("text", "image"),
        gives=("text", "image"),
        mode="exclusive",
        limits=("At most 256 tokens of text, which the repository fixes.",),
        installed_later=("flash-attn==2.7.4.post1 --no-build-isolation",),
    ),
    Recipe(
        name="mmada",
        title="MMaDA-8B-MixCoT",
        repository="Gen-Verse/MMaDA",
        commit="3cdb8709635beb29f66e4e23cd66060872ac3996",
        weights=(
            Weights("model", "Gen-Verse/MMaDA-8B-MixCoT"),
            Weights("magvitv2", "showlab/magvitv2"),
        ),
        code_licence="MIT",
        weights_licence="see the model card",
        memory="not stated",
        python="3.11",
        requirements=(
            "torch",
            "torchvision",
            "transformers==4.46.0",
            "diffusers==0.32.2",
            "accelerate",
            "omegaconf",
            "jaxtyping",
            "typeguard",
            "einops",
            "numpy",
            "Pillow",
        ),
        takes=("text", "image"),
        gives=("text", "image"),
        mode="exclusive",
        draws_from_pictures=False,
        limits=("One picture of 512 x 512 pixels for each answer with pictures.",),
    ),
    Recipe(
        name="next_gpt",
        title="NExT-GPT 7b_tiva_v0",
        repository="NExT-GPT/NExT-GPT",
        commit="60d618b067ee4cb0d70e7075ae79852780b34fc2",
        folder="NExT-GPT-Lagacy/code",
        weights=(
            Weights("model", "ChocoWu/nextgpt_7b_tiva_v0"),
            Weights(
                "pretrained",
                "",
                files="imagebind_ckpt/huge and vicuna_ckpt/7b_v0, as section 3.1 of "
                "NExT-GPT-Lagacy/README.md shows",
            ),
        ),
        code_licence="BSD-3-Clause; for research only",
        weights_licence="not stated; Vicuna's is that of LLaMA",
        memory="not stated",
        python="3.9",  # the repository names 3.8, which has no scipy 1.11.2
        requirements=(
            "accelerate==0.19.0",
            "decord==0.6.0",
            "deepspeed==0.9.3",
            "diffusers==0.17.0",
            "einops==0.6.1",
            "ftfy==6.1.1",
            "imageio[ffmpeg]==2.31.1",
            "iopath==0.1.10",
            "matplotlib==3.7.1",
            "numpy==1.24.3",
            "peft==0.3.0",
            "Pillow==9.5.0",
            "pytorchvideo==0.1.5",
            "PyYAML==6.0",
            "regex==2023.6.3",
            "scipy==1.11.2",
            "timm==0.9.2",
            "torch==1.13.1",
            "torchaudio==0.13.1",
            "torchvision==0.14.1",
            "transformers==4.29.2",
        ),
        takes=("text", "image", "audio", "video"),
        gives=("text", "image", "audio", "video"),
        mode="interleaved",
        limits=(
            "At most one picture, sound and film for each answer.",
            "The repository drops the text after the last of them.",
        ),
    ),
    Recipe(
        name="anygpt",
        title="AnyGPT-chat",
        repository="OpenMOSS/AnyGPT",
        commit="282b58fa96ae3f14d639b23f47b4732bf68883f0",
        weights=(
            Weights("model", "fnlp/AnyGPT-chat"),
            Weights("speech", "fnlp/AnyGPT-speech-modules"),
            Weights("seed", "AILab-CVC/seed-tokenizer-2"),
        ),
        code_licence="Llama 2 Community License",
        weights_licence="Llama 2 Community License",
        memory="not stated",
        python="3.9",
        requirements=(
            "torch==2.1.0",
            "torchaudio==2.1.0",
            "torchvision==0.16.0",
            "transformers==4.34.1",
            "diffusers==0.20.2",
            "xformers>=0.0.20",
            "speechtokenizer==0.1.2",
            "librosa==0.10.0",
            "scipy==1.11.4",
            "soundfile==0.12.1",
            "beartype==0.16.4",
            "omegaconf",
            "hydra-core",
            "pyrootutils",
            "timm",
            "accelerate",
            "einops",
            "sentencepiece",
            "Pillow",
        ),
        takes=("text", "image", "audio"),
        gives=("text", "image", "audio"),
        mode="interleaved",
        limits=(
            "A sound is speech or, with listens_to and speaks_as in args, music.",
            "max_tokens applies to answers of text alone.",
        ),
    ),
)
"""All recipes, in the order of the documentation."""


def recipe_named(name: str) -> Recipe:
    """Returns a recipe. Raises UnknownNameError for a name that has none."""
    names = [recipe.name for recipe in RECIPES]
    if name not in names:
        raise UnknownNameError(
            "recipe", name, names, f"The recipes are: {', '.join(names)}."
        )
    return RECIPES[names.index(name)]
