"""Signing up, in and out, and one's own profile."""

from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts import refresh_cookie, serializers, services, tokens
from apps.accounts.authentication import bearer_token, caller

_USER_AGENT_KEPT = 200


class EntryView(ViewSet):
    """Opens a session: for a new user, or for one who knows the password."""

    authentication_classes = ()
    permission_classes = ()

    def sign_up(self, request: Request) -> Response:
        body = serializers.SignUpBody.read(request.data)
        issued = services.sign_up(**body, **_origin_of(request), now=timezone.now())
        user = serializers.new_user_out(issued.session.user)
        return _signed_in(issued, message="Welcome.", user=user, status=201)

    def log_in(self, request: Request) -> Response:
        body = serializers.LogInBody.read(request.data)
        issued = services.log_in(**body, **_origin_of(request), now=timezone.now())
        user = serializers.known_user_out(issued.session.user)
        return _signed_in(issued, message="Logged in.", user=user, status=200)


def _origin_of(request: Request) -> dict[str, Any]:
    """Where the session is opened from, as the user's list of sessions shows it."""
    agent = request.headers.get("User-Agent", "")
    return {
        "address": request.META.get("REMOTE_ADDR") or None,
        "user_agent": "".join(filter(str.isprintable, agent))[:_USER_AGENT_KEPT],
    }


def _signed_in(
    issued: tokens.Issued, *, message: str, user: dict[str, object], status: int
) -> Response:
    access = serializers.access_out(issued.access)
    response = Response({"success": True, "message": message, "user": user, **access}, status)
    max_age = int(tokens.REFRESH_LIFETIME.total_seconds())
    refresh_cookie.put(response, issued.refresh, max_age=max_age)
    return response


class RefreshView(ViewSet):
    """A new access token for the refresh cookie. The Authorization header is not read."""

    authentication_classes = ()
    permission_classes = ()

    def refresh(self, request: Request) -> Response:
        refresh_cookie.refuse_cross_site(request)
        access = services.refresh(
            refresh_token=refresh_cookie.taken_from(request), now=timezone.now()
        )
        return Response({"success": True, **serializers.access_out(access)})

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """A cookie that was refused is of no more use."""
        if response.status_code == 401:
            refresh_cookie.clear(response)
        return super().finalize_response(request, response, *args, **kwargs)


class LogOutView(ViewSet):
    """Takes the access token, the refresh cookie or both, expired or not, and clears the cookie."""

    authentication_classes = ()
    permission_classes = ()

    def log_out(self, request: Request) -> Response:
        refresh_cookie.refuse_cross_site(request)
        services.log_out(
            access_token=bearer_token(request),
            refresh_token=refresh_cookie.taken_from(request),
            now=timezone.now(),
        )
        return Response({"success": True, "message": "Logged out."})

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        refresh_cookie.clear(response)
        return super().finalize_response(request, response, *args, **kwargs)


class ProfileView(ViewSet):
    """The user who calls."""

    def show(self, request: Request) -> Response:
        return Response(serializers.profile_out(caller(request)))

    def change(self, request: Request) -> Response:
        body = serializers.ProfileBody.read(request.data)
        user = services.change_profile(user=caller(request), **body)
        return Response(serializers.profile_out(user))
