"""Signing up, in and out; one's own profile, password, sessions and keys."""

from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts import (
    cookies,
    email_addresses,
    openapi,
    serializers,
    services,
    tokens,
)
from apps.accounts.authentication import bearer_token, caller, session_of_call
from apps.core import request_origin
from apps.core.api import limits
from apps.core.api.pagination import Query, page_of
from apps.core.errors import Forbidden
from apps.core.openapi import documented

_USER_AGENT_KEPT = 200


class EntryView(ViewSet):
    """Opens a session: for a new user, or for one who knows the password."""

    authentication_classes = ()
    permission_classes = ()

    @documented(openapi.SIGN_UP)
    def sign_up(self, request: Request) -> Response:
        body = serializers.SignUpBody.read(request.data)
        issued = services.sign_up(**body, **_origin_of(request), now=timezone.now())
        user = serializers.new_user_out(issued.session.user)
        return _signed_in(issued, message="Welcome.", user=user, status=201)

    @documented(openapi.LOG_IN)
    def log_in(self, request: Request) -> Response:
        body = serializers.LogInBody.read(request.data)
        wants_cookie = body.pop("sessionCookie", False)
        failures = limits.login_failures(email_addresses.normalize(body["email"]))
        with limits.failures_counted(failures):
            issued = services.log_in(**body, **_origin_of(request), now=timezone.now())
        if wants_cookie:
            cookies.log_browser_in(request, issued.session)
        user = serializers.known_user_out(issued.session.user)
        return _signed_in(issued, message="Logged in.", user=user, status=200)


def _origin_of(request: Request) -> dict[str, Any]:
    """Where the session is opened from, as the user's list of sessions shows it."""
    agent = request.headers.get("User-Agent", "")
    return {
        "address": request_origin.current().address,
        "user_agent": "".join(filter(str.isprintable, agent))[:_USER_AGENT_KEPT],
    }


def _signed_in(
    issued: tokens.IssuedTokens, *, message: str, user: dict[str, object], status: int
) -> Response:
    access = serializers.access_out(issued.access)
    response = Response({"success": True, "message": message, "user": user, **access}, status)
    max_age = int(tokens.REFRESH_LIFETIME.total_seconds())
    cookies.set_refresh_token(response, issued.refresh, max_age=max_age)
    return response


class RefreshView(ViewSet):
    """A new access token for the refresh cookie, and now and then a new cookie. The Authorization
    header is not read.
    """

    authentication_classes = ()
    permission_classes = ()

    @documented(openapi.REFRESH)
    def refresh(self, request: Request) -> Response:
        cookies.refuse_cross_site(request)
        now = timezone.now()
        renewal = services.refresh(refresh_token=cookies.refresh_token_in(request), now=now)
        response = Response({"success": True, **serializers.access_out(renewal.access)})
        if renewal.refresh is not None:
            left = renewal.session.expires_at - now
            cookies.set_refresh_token(response, renewal.refresh, max_age=int(left.total_seconds()))
        return response

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """A cookie that was refused is of no more use."""
        if response.status_code == 401:
            cookies.clear_refresh_token(response)
        return super().finalize_response(request, response, *args, **kwargs)


class LogOutView(ViewSet):
    """Takes any of access token, refresh cookie and session cookie, expired or not, and clears the
    cookies.
    """

    authentication_classes = ()
    permission_classes = ()

    @documented(openapi.LOG_OUT)
    def log_out(self, request: Request) -> Response:
        cookies.refuse_cross_site(request)
        services.log_out(
            access_token=bearer_token(request),
            refresh_token=cookies.refresh_token_in(request),
            browser_session=_browser_session(request),
            now=timezone.now(),
        )
        cookies.log_browser_out(request)
        return Response({"success": True, "message": "Logged out."})

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        cookies.clear_refresh_token(response)
        return super().finalize_response(request, response, *args, **kwargs)


def _browser_session(request: Request) -> str | None:
    """What the session cookie proves. Without the CSRF token that is nothing, and where no other
    credential was sent, a refusal.
    """
    session_id = cookies.session_id_in(request._request)
    try:
        if session_id is not None:
            cookies.check_csrf(request)
    except Forbidden:
        if not (bearer_token(request) or cookies.refresh_token_in(request)):
            raise
        return None
    return session_id


class ProfileView(ViewSet):
    """The user who calls."""

    @documented(openapi.READ_PROFILE)
    def show(self, request: Request) -> Response:
        return Response(serializers.profile_out(caller(request)))

    @documented(openapi.CHANGE_PROFILE)
    def change(self, request: Request) -> Response:
        body = serializers.ProfileBody.read(request.data)
        user = services.change_profile(user=caller(request), **body, now=timezone.now())
        return Response(serializers.profile_out(user))


class PasswordView(ViewSet):
    @documented(openapi.CHANGE_PASSWORD)
    def change(self, request: Request) -> Response:
        body = serializers.PasswordBody.read(request.data)
        services.change_password(
            user=caller(request),
            session=session_of_call(request),
            current_password=body["currentPassword"],
            new_password=body["newPassword"],
            now=timezone.now(),
        )
        message = "The password is changed; other sessions have ended."
        return Response({"success": True, "message": message})


class SessionView(ViewSet):
    """Where the user is signed in."""

    @documented(openapi.LIST_SESSIONS)
    def list(self, request: Request) -> Response:
        page = Query(request.query_params).page()
        rows = services.live_sessions(caller(request), now=timezone.now())
        current = session_of_call(request)
        return Response(page_of(rows, page, lambda row: serializers.session_out(row, current)))

    @documented(openapi.END_SESSION)
    def end(self, request: Request, session_id: str) -> Response:
        services.end_session(user=caller(request), session_id=session_id, now=timezone.now())
        is_current = session_id == session_of_call(request).pk
        return _signed_out(request) if is_current else Response(status=204)

    @documented(openapi.END_SESSIONS)
    def end_all(self, request: Request) -> Response:
        services.end_all_sessions(user=caller(request), now=timezone.now())
        return _signed_out(request)


def _signed_out(request: Request) -> Response:
    """Without the cookies, which are of no more use."""
    response = Response(status=204)
    cookies.clear_refresh_token(response)
    cookies.log_browser_out(request)
    return response


class KeyView(ViewSet):
    """The keys of the user's programs."""

    @documented(openapi.LIST_KEYS)
    def list(self, request: Request) -> Response:
        page = Query(request.query_params).page()
        return Response(page_of(services.keys_of(caller(request)), page, serializers.key_out))

    @documented(openapi.CREATE_KEY)
    def create(self, request: Request) -> Response:
        key, text = services.create_key(
            user=caller(request), now=timezone.now(), **serializers.key_in(request.data)
        )
        return Response({**serializers.key_out(key), "key": text}, status=201)

    @documented(openapi.REVOKE_KEY)
    def revoke(self, request: Request, key_id: str) -> Response:
        services.revoke_key(user=caller(request), key_id=key_id, now=timezone.now())
        return Response(status=204)
