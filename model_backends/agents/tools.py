"""Tools that do not need a special backend.

Any backend that returns the tool's kind of media can be used.
"""

from __future__ import annotations

from mmeval.backend import Tool

image_edit = Tool(
    name="image_edit",
    makes="image",
    about="Changes pictures as an instruction in plain words says; it sees the "
    "pictures and the instruction.",
    backend="openai",
    takes=("text", "image"),
)
text_to_sound = Tool(
    name="text_to_sound",
    makes="audio",
    about="Makes a sound, such as rain or a bell, from a description in plain words.",
    backend="process",
)
text_to_music = Tool(
    name="text_to_music",
    makes="audio",
    about="Plays music from a description of instruments, tempo and mood.",
    backend="process",
)
clone_speech = Tool(
    name="clone_speech",
    makes="audio",
    about="Reads a text aloud in the voice of a recording: give the recording and the "
    "very words that are to be heard.",
    backend="process",
    takes=("text", "audio"),
)
text_to_video = Tool(
    name="text_to_video",
    makes="video",
    about="Films one short scene from a description in plain words.",
    backend="process",
)
point_completion = Tool(
    name="point_completion",
    makes="3d",
    about="Completes a 3D shape of which a part is missing.",
    backend="process",
    takes=("text", "3d"),
)
code_interpreter = Tool(
    name="code_interpreter",
    makes="text",
    about="Runs a program that lies beside the media of a question, and gives what it "
    "printed.",
    backend="sandbox",
    takes=("text", "code", "image", "audio", "video", "document", "3d"),
)
detect_objects = Tool(
    name="detect_objects",
    makes="text",
    about="Lists the objects of a picture with their boxes.",
    backend="openai",
    takes=("text", "image"),
)
image_to_video = Tool(
    name="image_to_video",
    makes="image",
    about="Films what happens next in a picture, and gives some pictures of that film "
    "in the order of time.",
    backend="process",
    takes=("text", "image"),
    parts=0,
)
fixed_views = Tool(
    name="fixed_views",
    makes="image",
    about="Shows the object of a picture from 60 and 30 degrees left, and from 30 and "
    "60 degrees right, in this order.",
    backend="process",
    takes=("image",),
    parts=4,
)
free_views = Tool(
    name="free_views",
    makes="image",
    about="Shows the object of a picture from other sides, each a fraction of a full "
    "turn to the right.",
    backend="process",
    takes=("text", "image"),
    parts=0,
)
image_morph = Tool(
    name="image_morph",
    makes="image",
    about="Turns one picture into another in four steps, of which the first and the "
    "last are these two pictures.",
    backend="process",
    takes=("text", "image"),
    parts=4,
)
