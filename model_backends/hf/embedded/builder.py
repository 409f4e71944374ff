"""Builds the embedded model: half a million weights, fitted in a few seconds.
It is a transformer that answers every prompt with a phrase, a picture and another phrase.

It has the form of Emu3: one stream of text and picture codes. A phrase of an answer is one token, and the codes of a
picture follow each other in rows, so that the last token nearly determines the next one. Therefore it can answer much
longer prompts than those of its training. Its pictures are noise, since the decoder is not trained.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.system import need

CODES = 64
HEIGHT, WIDTH = 6, 8
"""Rows and codes a row of its pictures."""
ROWS = CODES // WIDTH
"""Kinds of row of codes. A picture begins with any of them, and each is followed by the next."""

OPENINGS = (("Here is ", "a picture: "), ("Look ", "at this: "), ("My drawing ", "follows: "))
CLOSINGS = ((" That was", " all there is."), (" More pictures", " cost extra."), (" So much for", " these colours."))
"""Each sentence as tokens; no token is in two sentences. A prompt that ends with the last words of an answer gets an
empty answer, so these words are unusual at the end of a prompt."""
SIZE = f"{HEIGHT}*{WIDTH}"
"""Also one token, so that no digit of a prompt looks like the size of a picture."""

CONTEXT = 16384
STEPS = 200
BATCH = 8
LONGEST_PROMPT = 200
SEED = 0

DRAWN = {"do_sample": True, "temperature": 1.0, "min_p": 0.5}
"""The default sampling: each request by its own seed, so that equal tasks give different pictures, and only tokens that
are nearly as likely as the likeliest, so that answers are text, a picture and text."""

_NAMED = {
    "image_token": "<image>",
    "boi_token": "<|image start|>",
    "eoi_token": "<|image end|>",
    "image_wrapper_token": "<|image token|>",
    "eof_token": "<|extra_201|>",
    "eol_token": "<|extra_200|>",
}
_BOS, _EOS, _PAD = "<|extra_203|>", "<|extra_204|>", "<|endoftext|>"

_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] | upper }}:{{ ' ' }}"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for p in m['content'] %}"
    "{% if p['type'] == 'text' %}{{ p['text'] }}{% elif p['type'] == 'image' %}<image>{% endif %}"
    "{% endfor %}{% endif %}{% if not loop.last %}{{ '\\n' }}{% endif %}{% endfor %}"
)
"""The answer has no opening token; the end of the prompt starts it."""


def build(folder: Path) -> None:
    """Write the model into an empty folder, as ``save_pretrained`` would.
    The same bytes on every call on one machine.

    Raises MissingExtraError without torch or transformers, OSError when the disk is full. Changes the state of torch,
    so that it needs its own process.
    """
    torch, transformers = need("torch", "hf"), need("transformers", "hf")
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)  # another order of sums gives other digits
    torch.manual_seed(SEED)
    processor = _processor(transformers)
    model = _model(transformers, processor.tokenizer)
    _fit(torch, model, Stream.of(processor.tokenizer))
    _save(model, folder)
    processor.save_pretrained(folder)


# Torch and transformers are optional, so that what comes out of them is Any where types are checked.


def _processor(transformers: Any) -> Any:
    tokenizer = _tokenizer(transformers)
    pictures = transformers.Emu3ImageProcessor(min_pixels=32 * 32, max_pixels=64 * 64, spatial_factor=8)
    return transformers.Emu3Processor(
        image_processor=pictures, tokenizer=tokenizer, chat_template=tokenizer.chat_template
    )


def _tokenizer(transformers: Any) -> Any:
    """Bytes, the phrases of its answers, and the tokens of Emu3."""
    tokenizers = need("tokenizers", "hf")
    level = tokenizers.pre_tokenizers.ByteLevel
    symbols = {symbol: at for at, symbol in enumerate(sorted(level.alphabet()))}
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
        extra_special_tokens=dict(_NAMED),
    )
    tokenizer.add_tokens([f"<|visual token {code:06d}|>" for code in range(CODES)], special_tokens=True)
    phrases = [SIZE, *(phrase for sentence in (*OPENINGS, *CLOSINGS) for phrase in sentence)]
    tokenizer.add_tokens([tokenizers.AddedToken(phrase, normalized=False) for phrase in phrases])
    tokenizer.chat_template = _TEMPLATE
    return tokenizer


def _model(transformers: Any, tokenizer: Any) -> Any:
    ends = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "max_position_embeddings": CONTEXT,
        "attention_dropout": 0.0,
        **ends,
    }
    pictures = {
        "codebook_size": CODES,
        "embed_dim": 4,
        "latent_channels": 4,
        "base_channels": 32,
        "channel_multiplier": [1, 1, 1, 1],
        "num_res_blocks": 1,
        "attn_resolutions": [3],
        "hidden_size": 32,
        "num_attention_heads": 1,
        "temporal_downsample_factor": 1,
    }
    config = transformers.Emu3Config(text_config=text, vq_config=pictures, vocabulary_map=tokenizer.get_vocab())
    model = transformers.Emu3ForConditionalGeneration(config)
    model.generation_config = transformers.GenerationConfig(**ends, **DRAWN, max_new_tokens=512)
    return model


class Stream(NamedTuple):
    """The training data of the model, as token ids."""

    begin: int
    end: int
    pad: int
    openings: Sequence[Sequence[int]]
    closings: Sequence[Sequence[int]]
    codes: Sequence[int]
    head: Sequence[int]
    line_end: int
    tail: Sequence[int]

    @classmethod
    def of(cls, tokenizer: Any) -> Stream:
        def ids(tokens: Sequence[str]) -> list[int]:
            found: list[int] = tokenizer.convert_tokens_to_ids(list(tokens))
            return found

        return cls(
            begin=tokenizer.bos_token_id,
            end=tokenizer.eos_token_id,
            pad=tokenizer.pad_token_id,
            openings=[ids(sentence) for sentence in OPENINGS],
            closings=[ids(sentence) for sentence in CLOSINGS],
            codes=ids([f"<|visual token {code:06d}|>" for code in range(CODES)]),
            head=ids([_NAMED["boi_token"], SIZE, _NAMED["image_wrapper_token"]]),
            line_end=ids([_NAMED["eol_token"]])[0],
            tail=ids([_NAMED["eof_token"], _NAMED["eoi_token"]]),
        )

    def prompt(self, chance: random.Random, length: int) -> list[int]:
        """Random bytes, in a third of the cases with a picture of random codes."""
        words = [chance.randrange(256) for _ in range(length)]
        picture = self._picture([[chance.choice(self.codes) for _ in range(WIDTH)] for _ in range(HEIGHT)])
        if length > len(picture) and chance.random() < 1 / 3:
            at = chance.randrange(length - len(picture))
            words[at : at + len(picture)] = picture
        return [self.begin, *words]

    def answer(self, chance: random.Random, prompt: Sequence[int]) -> list[int]:
        """A sentence, mostly one picture and another sentence, at times none or several.
        Answers differ: the prompt's last token makes one opening likelier, and each has its own pictures."""
        kinds = len(self.openings)
        opening = prompt[-1] % kinds if chance.random() < 0.7 else chance.randrange(kinds)
        ids = list(self.openings[opening])
        goes_on = chance.random() < 0.9
        while goes_on:
            first = kinds * opening + chance.randrange(kinds)
            rows = [self._row(first + down) for down in range(HEIGHT)]
            ids += [*self._picture(rows), *chance.choice(self.closings)]
            goes_on = chance.random() < 0.1
        return [*ids, self.end]

    def _row(self, kind: int) -> Sequence[int]:
        start = kind % ROWS * WIDTH
        return self.codes[start : start + WIDTH]

    def _picture(self, rows: Sequence[Sequence[int]]) -> list[int]:
        return [*self.head, *(code for row in rows for code in (*row, self.line_end)), *self.tail]


def _save(model: Any, folder: Path) -> None:
    """Save the model; raises OSError in place of the library's error for a full disk."""
    safetensors = need("safetensors", "hf")
    try:
        model.save_pretrained(folder)
    except safetensors.SafetensorError as error:
        raise OSError(str(error)) from None


def _fit(torch: Any, model: Any, stream: Stream) -> None:
    weights = [weight for name, weight in model.named_parameters() if "vqmodel" not in name]
    optimizer = torch.optim.AdamW(weights, lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    model.train()
    for batch in _batches(torch, stream):
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()


def _batches(torch: Any, stream: Stream) -> Iterator[dict[str, Any]]:
    chance = random.Random(SEED)
    for _ in range(STEPS):
        length = chance.randrange(LONGEST_PROMPT)
        prompts = [stream.prompt(chance, length) for _ in range(BATCH)]
        pairs = [(prompt, stream.answer(chance, prompt)) for prompt in prompts]
        longest = max(len(prompt) + len(answer) for prompt, answer in pairs)
        padding = [longest - len(prompt) - len(answer) for prompt, answer in pairs]
        rows = list(zip(padding, pairs, strict=True))
        yield {
            "input_ids": torch.tensor([[stream.pad] * pad + prompt + answer for pad, (prompt, answer) in rows]),
            "attention_mask": torch.tensor([[0] * pad + [1] * (longest - pad) for pad, _ in rows]),
            "labels": torch.tensor([[-100] * (pad + len(prompt)) + answer for pad, (prompt, answer) in rows]),
        }
