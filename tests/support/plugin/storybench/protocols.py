"""An episode of three turns whose prompts carry the earlier answers and pictures."""

from mmeval.content import Interleaved
from mmeval.program import Ask, Program, ask_one, join
from mmeval.records import message


def three_turns(ask: Ask) -> Program[Interleaved]:
    """Begin a story, continue it with the first picture at hand, end it with both pictures at hand."""
    answers: list[Interleaved] = []
    for wish in ("Begin the story with a picture.", "Continue it with another picture.", "End it with a last picture."):
        earlier = [part for answer in answers for part in answer.parts]
        prompt = message("user", *ask.messages[-1].content.parts, *earlier, wish)
        reply = yield from ask_one(ask.call([prompt]))
        answers.append(reply.require())
    return join(answers)
