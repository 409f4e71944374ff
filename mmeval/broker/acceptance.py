"""Checks a reply before it is journalled: separates the reasoning and finds faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mmeval.media.parts import Interleaved, Part, split_reasoning
from mmeval.program.calls import Call, excerpt
from mmeval.records.response import ErrorInfo, Response


def checked(
    call: Call,
    response: Response,
    reasoning_tags: tuple[str, str] | None,
    left_out: Sequence[str] = (),
) -> tuple[Response, str]:
    """Returns the response to journal, and its fault, which is empty if it has none.

    ``left_out`` contains the options of the call that its role does not know. If
    nothing changes, the same response object is returned.
    """
    if response.error is not None and response.error.kind == "refused":
        response = response.as_refused()
    if response.output is None:
        return response, ""
    if reasoning_tags is not None:
        output = reasoning_apart(response.output, *reasoning_tags)
        if output is not response.output:
            response = replace(response, output=output)
    if left_out:
        warnings = [
            f"the {call.role} does not know the option {name}; it was left out"
            for name in left_out
        ]
        response = with_warnings(response, warnings)
    fault = fault_of(call, response)
    if fault:
        response = unacceptable(response, fault)
    return response, fault


def fault_of(call: Call, response: Response) -> str:
    """Returns why a reply is not acceptable, or an empty string.

    The string is also empty if another draw cannot help. This applies to a failure,
    which has an error instead, and to a refused request, which would be refused again.
    """
    if response.is_refused:
        return ""
    return call.fault_in(response)


def unacceptable(response: Response, fault: str) -> Response:
    """Converts an unacceptable reply into a failure that keeps its cost and source."""
    error = ErrorInfo("bad_reply", fault, reply=excerpt(response))
    return replace(response, output=None, error=error, finish_reason="error")


def with_warnings(response: Response, warnings: Sequence[str]) -> Response:
    """Adds warnings to a response.

    If the response already has all of them, the same object is returned.
    """
    added = [warning for warning in warnings if warning not in response.warnings]
    if not added:
        return response
    return replace(response, warnings=(*response.warnings, *added))


def reasoning_apart(
    output: Interleaved,
    opening: str,
    closing: str,
) -> Interleaved:
    """Moves the reasoning that is between the tags from the text into reasoning parts.

    Placeholders in the reasoning remain there as text. The media of the answer are
    assigned to the other placeholders.
    """
    for part in output.parts:
        has_tag = opening in part.raw or closing in part.raw
        if has_tag and part.kind != "reasoning":
            break
    else:
        return output

    parts: list[Part] = []
    if _is_placed_by_order(output):
        for part in output.parts:
            if part.kind == "text":
                parts.extend(split_reasoning(part.raw, opening, closing))
            else:
                parts.append(part)
        return Interleaved(tuple(parts))

    for piece in split_reasoning(output.raw, opening, closing):
        if piece.kind == "reasoning":
            parts.append(piece)
        else:
            parts.extend(Interleaved.from_text(piece.raw).parts)
    # two placeholders may name the same medium
    media = {id(medium): medium for medium in output.media()}
    return Interleaved(tuple(parts)).filled(list(media.values()))


def _is_placed_by_order(output: Interleaved) -> bool:
    """Returns True if a medium's position is known only from the order of the parts.

    This is the case if text follows a medium that has no placeholder.
    """
    has_medium_without_tag = False
    for part in output.parts:
        if part.raw and has_medium_without_tag:
            return True
        if part.media is not None and not part.raw:
            has_medium_without_tag = True
    return False
