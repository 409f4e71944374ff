"""MMMG's 49 tasks as its paper counts them, apart from the task files: names, rows and
media."""

from typing import NamedTuple


class Counted(NamedTuple):
    """A task with the authors' id of it, its rows, the media that these name, and
    whether models score it."""

    task: str
    id: str
    rows: int
    pictures: int = 0
    sounds: int = 0
    weights: bool = False


TASKS = (
    Counted("mmmg_object_inclusion", "i_object_include", 20),
    Counted("mmmg_object_exclusion", "i_object_exclude", 20),
    Counted("mmmg_object_count", "i_object_count", 20),
    Counted("mmmg_object_reasoning", "i_object_cot", 20),
    Counted("mmmg_object_attribution", "i_object_attribute", 20),
    Counted("mmmg_comparison_relation", "i_relation_two", 20),
    Counted("mmmg_universal_relation", "i_relation_all", 20),
    Counted("mmmg_relative_spatial", "i_spacial_relative", 20),
    Counted("mmmg_absolute_spatial", "i_spacial_absolute", 20),
    Counted("mmmg_region_fill", "i_format_background", 15),
    Counted("mmmg_border_fill", "i_format_border", 15),
    Counted("mmmg_single_text_rendering", "i_ocr", 20),
    Counted("mmmg_double_text_rendering", "i_ocr_two", 20),
    Counted("mmmg_multilingual_text_rendering", "i_ocr_multi_lingual", 20),
    Counted("mmmg_semantic_consistency", "i_consistency_semantic", 20),
    Counted("mmmg_composition", "i_consistency_compose", 20),
    Counted("mmmg_decomposition", "i_consistency_decompose", 20, pictures=20),
    Counted("mmmg_multi_view", "i_consistency_3d_scene", 20, pictures=100),
    Counted("mmmg_multi_angle", "i_consistency_3d_object", 20, pictures=100),
    Counted(
        "mmmg_interleaved_object_adding", "i_edit_add", 20, pictures=60, weights=True
    ),
    Counted(
        "mmmg_interleaved_color_modifying",
        "i_edit_color",
        20,
        pictures=60,
        weights=True,
    ),
    Counted("mmmg_text_editing", "i_edit_text", 25, pictures=25),
    Counted("mmmg_object_adding", "i_edit_object_add", 20, pictures=20),
    Counted("mmmg_object_removing", "i_edit_object_remove", 20, pictures=20),
    Counted("mmmg_object_modifying", "i_edit_object_modify", 20, pictures=20),
    Counted("mmmg_self_count", "it_coherence_count", 20),
    Counted("mmmg_self_color", "it_coherence_color", 20),
    Counted("mmmg_self_size", "it_coherence_size", 20),
    Counted("mmmg_self_relative_spatial", "it_coherence_spacial_relative", 20),
    Counted("mmmg_self_absolute_spatial", "it_coherence_spacial_absolute", 20),
    Counted("mmmg_self_ocr", "it_coherence_ocr", 20),
    Counted("mmmg_interleaved_math", "it_coherence_math", 20, pictures=40),
    Counted(
        "mmmg_interleaved_code", "it_coherence_code", 20, pictures=20, weights=True
    ),
    Counted("mmmg_image_text_order", "i_structure", 20, pictures=2),
    Counted("mmmg_sound_begin_end", "a_sound_begin_end", 20, weights=True),
    Counted("mmmg_sound_positional_inclusion", "a_sound_include", 20, weights=True),
    Counted("mmmg_sound_silence", "a_sound_silence", 20, weights=True),
    Counted("mmmg_sound_reasoning", "a_sound_cot", 18, weights=True),
    Counted("mmmg_instrument_inclusion", "a_music_instrument", 15, weights=True),
    Counted("mmmg_instrument_exclusion", "a_music_exclude", 14, weights=True),
    Counted("mmmg_music_tempo", "a_music_tempo", 15, weights=True),
    Counted("mmmg_music_intensity", "a_music_intensity", 10),
    Counted("mmmg_voice_attribution", "a_speech_attribute", 20, weights=True),
    Counted("mmmg_multilingual_speech", "a_speech_chinese", 20, weights=True),
    Counted("mmmg_voice_replication", "a_speech_imitate", 20, sounds=20, weights=True),
    Counted("mmmg_transcript_editing", "a_speech_modify", 20, sounds=20, weights=True),
    Counted("mmmg_transcript_generation", "a_speech_constraint", 20, weights=True),
    Counted("mmmg_conversation", "a_consistency_conversation", 20, weights=True),
    Counted("mmmg_audio_text_order", "a_structure", 20, sounds=2),
)

SHARED_ROWS = 10
"""Rows that two tasks score: those of the one music file that name an instrument and a
tempo."""

NEED_WEIGHTS = tuple(counted.task for counted in TASKS if counted.weights)
"""Tasks that models of metrics score: without weights on this machine their overall
metric is unavailable."""
