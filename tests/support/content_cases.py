"""Hypothesis strategies for content: texts near the placeholder grammar, parts, answers."""

from hypothesis import strategies as st

from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, Part, media_part, text_part
from tests.support import tiny_media as tiny

_SHARDS = (
    *("<", "<<", ">", ">>", "#", ":", " ", "_", "\n", "1", "007", "9" * 12, "image", "Image", "img", "3d", "threeD"),
    *(
        "<image1>",
        "<<audio 2>>",
        "<code_3:",
        "<image_start>",
        "<image_0>",
        "<image_end>",
        "<gen_img1>",
        "<query_text2>",
    ),
    *("#image1#", "<GEN_0>", "<boi>", "<eoi>", "<boi><eoi>", "<think>", "</think>", "ı", "İ", "١", "\ud800", "é"),
)
near_grammar = st.lists(st.sampled_from(_SHARDS) | st.text(max_size=3), max_size=12).map("".join)
"""Texts made of pieces of placeholders, whole ones, and anything else."""

plain_words = st.text(st.characters(codec="utf-8", exclude_characters="<>#"), min_size=1, max_size=8)
"""Words that can neither be nor complete a placeholder."""

_MEDIA = (("a.png", tiny.picture()), ("", tiny.wav(8)), ("a.obj", tiny.PLAIN_OBJ), ("a.csv", b"a,b\n"))
media = st.sampled_from([Media.from_bytes(data, name) for name, data in _MEDIA])
parts: st.SearchStrategy[Part] = st.one_of(
    near_grammar.map(text_part),
    media.map(media_part),
    near_grammar.map(lambda text: Part("code", text=text, label="code1")),
    near_grammar.map(lambda text: Part("reasoning", text=text.strip(), raw=f"<think>{text}</think>")),
    st.just(Part("image", raw="<<image1>>", label="image1")),
)
answers: st.SearchStrategy[Interleaved] = st.lists(parts, max_size=5).map(lambda found: Interleaved(tuple(found)))
