"""Rules for every route, so that a new one is covered at once."""

import re
from collections import defaultdict

from django.urls import URLPattern, get_resolver

from apps.accounts.models import User
from tests.conftest import Api
from tests.error_responses import assert_error

PUBLIC = {
    "/api/auth/signup": "post",
    "/api/auth/login": "post",
    "/api/auth/refresh-token": "post",
    "/api/auth/logout": "post",
    "/api/auth/password-reset": "post",
    f"/hooks/{'0' * 24}": "post",
}


def routes() -> list[tuple[str, str]]:
    """Return every (method, path) for programs, with plausible values."""
    pairs = []
    for pattern in get_resolver().url_patterns:
        if isinstance(pattern, URLPattern) and str(pattern.pattern).startswith(("api/", "hooks/")):
            path = "/" + re.sub(r"<[^>]*symbol[^>]*>", "NSE:TCS", str(pattern.pattern))
            path = re.sub(r"<[^>]+>", "0" * 24, path)
            pairs += [(method, path) for method in pattern.callback.actions]  # type: ignore[attr-defined]  # set by DRF's as_view
    return pairs


ROUTES = routes()  # before the first call: later they have HEAD too


def test_every_route_that_is_not_public_needs_a_token(api: Api) -> None:
    for method, path in ROUTES:
        response = getattr(api(), method)(path)
        if PUBLIC.get(path) == method:
            assert response.status_code in (200, 400, 401, 404), path
        else:
            assert_error(response, 401, "UNAUTHORIZED")
            assert response["WWW-Authenticate"] == "Bearer", path


def test_a_wrong_method_is_refused_with_the_allowed_methods(api: Api, alice: User) -> None:
    client, known = api(alice), defaultdict(set)
    for method, path in ROUTES:
        known[path].add(method)
    for path, methods in known.items():
        response = client.generic("PROPFIND", path)
        assert_error(response, 405, "VALIDATION_ERROR", reason="method_not_allowed")
        allowed = {method.strip().lower() for method in response["Allow"].split(",")}
        assert methods <= allowed, path


def test_a_slash_at_the_end_is_another_address(api: Api) -> None:
    for path in {path for _, path in ROUTES}:
        assert_error(api().get(path + "/"), 404, "NOT_FOUND")
