"""Check an error response."""

from typing import Any

from apps.core.errors import Code


def assert_error(response: Any, status: int, code: str, /, **details: object) -> dict[str, Any]:
    """Assert that the response is this complete, well-formed error, with at least these details;
    return the error.
    """
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/json"
    body = response.json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert (
        {"message", "code", "status", "requestId"}
        <= set(error)
        <= {"message", "code", "status", "requestId", "details", "retryAfter"}
    )
    assert error["status"] == status
    assert error["code"] == code == Code(code)
    assert error["message"]
    assert error["requestId"] == response["X-Request-ID"]
    sent_details = error.get("details", {})
    assert isinstance(sent_details, dict)
    for name, value in details.items():
        assert sent_details.get(name) == value, sent_details
    return error
