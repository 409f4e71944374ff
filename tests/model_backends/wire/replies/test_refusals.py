import json
from typing import Any

import pytest

from mmeval.model_backends.wire.replies.server_errors import http_error


def is_refused(status: int, error: str) -> bool:
    return http_error(status, {}, error.encode()).kind == "refused"


def body(**error: Any) -> str:
    return json.dumps({"error": error})


@pytest.mark.parametrize(
    "error",
    [
        body(code="content_filter"),
        body(code="ContentFilter"),
        body(code=None, innererror={"code": "ResponsibleAIPolicyViolation"}),
        body(type="content_policy_violation"),
        body(code="moderation_blocked"),
        body(code="image_content_policy_violation"),
        body(code="bio_policy"),
        body(code="misalignment_policy_violation"),
        json.dumps({"code": "data_inspection_failed", "message": "inspected"}),
        body(code="sensitive"),
        body(code="invalid_prompt", message="violating our usage policy"),
        body(code="invalid_prompt", message="Your prompt was flagged."),
        json.dumps([{"error": {"details": [{"reason": "CONTENT_FILTER"}]}}]),
        body(metadata={"raw": body(code="content_filter")}),
        body(message="It was rejected by the safety system."),
        json.dumps({"detail": "This violates our content policies."}),
        "Your request was rejected as a result of our safety system.",
    ],
)
def test_errors_that_are_refusals(error: str) -> None:
    assert is_refused(400, error)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, body(code="invalid_prompt", message="The prompt is empty.")),
        (400, body(message="no such field", code="invalid_request_error")),
        (400, body(metadata={"reasons": ["violence"]})),
        (401, body(code="content_filter")),
        (403, body(message="Your key may not use this model.")),
        (404, body(message="this violates our policy")),
        (429, body(code="content_filter")),
        (400, "[" * 10_000),
        (400, json.dumps({"error": {"error": 7}})),
    ],
)
def test_errors_that_are_no_refusals(status: int, error: str) -> None:
    assert not is_refused(status, error)


@pytest.mark.parametrize(
    "metadata", [{"reasons": ["violence"]}, {"flagged_input": "kill"}]
)
def test_a_moderation_of_openrouter_is_a_refusal(metadata: dict[str, Any]) -> None:
    assert is_refused(403, body(code=403, message="flagged", metadata=metadata))
