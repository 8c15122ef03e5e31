"""/api/auth: signing up, logging in and out; a user's own profile, password, sessions and keys."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts import cookies, email_addresses, services, tokens
from apps.accounts.authentication import bearer_token, session_of_call
from apps.accounts.serializers import (
    CreatedKeySerializer,
    DoneSerializer,
    KeySerializer,
    LoggedInSerializer,
    LogInSerializer,
    NewKeySerializer,
    PasswordChangeSerializer,
    ProfileChangeSerializer,
    ProfileSerializer,
    RenewedSerializer,
    SessionSerializer,
    SignedUpSerializer,
    SignUpSerializer,
)
from apps.accounts.services import EmailTaken, TooManyKeys, WrongCredentials
from apps.core import request_origin
from apps.core.api import limits
from apps.core.api.schema import ACCOUNT, LOG_OUT, REFRESH, answer_header, refuses
from apps.core.api.views import OwnedViewSet
from apps.core.errors import Forbidden

SET_COOKIE: Final = answer_header("Set-Cookie")
USER_AGENT_LENGTH: Final = 200


def _origin_of(request: Request) -> dict[str, Any]:
    """Return where a session is opened from, as the user's list of sessions shows it."""
    agent = request.headers.get("User-Agent", "")
    return {
        "address": request_origin.current().address,
        "user_agent": "".join(filter(str.isprintable, agent))[:USER_AGENT_LENGTH],
    }


def _access(access_token: str) -> dict[str, object]:
    seconds = int(tokens.ACCESS_LIFETIME.total_seconds())
    return {"access_token": access_token, "expires_in": seconds}


@extend_schema(tags=["account"])
class EntryViewSet(OwnedViewSet):
    """Calls that open a session: for a new user, or for one who knows the password."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        operation_id="signUp",
        parameters=[SET_COOKIE],
        request=SignUpSerializer,
        responses={201: SignedUpSerializer},
    )
    @refuses(EmailTaken)
    def sign_up(self, request: Request) -> Response:
        """Register, and open a first session."""
        body = self.read(SignUpSerializer)
        issued = services.sign_up(**body, **_origin_of(request), now=self.now)
        return _logged_in(issued, SignedUpSerializer, message="Welcome.", status=201)

    @extend_schema(
        operation_id="logIn",
        parameters=[SET_COOKIE],
        request=LogInSerializer,
        responses={200: LoggedInSerializer},
    )
    @refuses(WrongCredentials)
    def log_in(self, request: Request) -> Response:
        """Open a session.

        With `sessionCookie` true a browser is also signed in by a cookie of its own.
        """
        body = self.read(LogInSerializer)
        wants_cookie = body.pop("session_cookie", False)
        failures = limits.login_failures(email_addresses.normalize(body["email"]))
        with limits.failures_counted(failures):
            issued = services.log_in(**body, **_origin_of(request), now=self.now)
        if wants_cookie:
            cookies.log_browser_in(request, issued.session)
        return _logged_in(issued, LoggedInSerializer, message="Logged in.", status=200)


def _logged_in(
    issued: tokens.IssuedTokens,
    serializer: type[SignedUpSerializer | LoggedInSerializer],
    *,
    message: str,
    status: int,
) -> Response:
    user = issued.session.user
    values = {"success": True, "message": message, "user": user, **_access(issued.access)}
    response = Response(serializer.render(values), status)
    max_age = int(tokens.REFRESH_LIFETIME.total_seconds())
    cookies.set_refresh_token(response, issued.refresh, max_age=max_age)
    return response


@extend_schema(tags=["account"])
class RefreshViewSet(OwnedViewSet):
    """The renewal of access tokens. The Authorization header is not read."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        operation_id="refreshToken",
        auth=REFRESH,
        parameters=[SET_COOKIE],
        request=None,
        responses={200: RenewedSerializer},
    )
    def refresh(self, request: Request) -> Response:
        """A new access token for the refresh cookie.

        Now and then the answer also replaces the cookie; a client keeps the newest.
        """
        cookies.refuse_cross_site(request)
        refreshed = services.refresh(refresh_token=cookies.refresh_token_in(request), now=self.now)
        values = {"success": True, **_access(refreshed.access)}
        response = Response(RenewedSerializer.render(values))
        if refreshed.refresh is not None:
            max_age = int((refreshed.session.expires_at - self.now).total_seconds())
            cookies.set_refresh_token(response, refreshed.refresh, max_age=max_age)
        return response

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """Clear a cookie that was refused."""
        if response.status_code == 401:
            cookies.clear_refresh_token(response)
        return super().finalize_response(request, response, *args, **kwargs)


@extend_schema(tags=["account"])
class LogOutViewSet(OwnedViewSet):
    """Logging out by any of access token, refresh cookie and session cookie, expired or not."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        operation_id="logOut",
        auth=LOG_OUT,
        parameters=[SET_COOKIE],
        request=None,
        responses={200: DoneSerializer},
    )
    def log_out(self, request: Request) -> Response:
        """End the session that any of the credentials proves."""
        cookies.refuse_cross_site(request)
        services.log_out(
            access_token=bearer_token(request),
            refresh_token=cookies.refresh_token_in(request),
            browser_session=_browser_session(request),
            now=self.now,
        )
        cookies.log_browser_out(request)
        return Response(DoneSerializer.render({"success": True, "message": "Logged out."}))

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        cookies.clear_refresh_token(response)
        return super().finalize_response(request, response, *args, **kwargs)


def _browser_session(request: Request) -> str | None:
    """Return the id of the session that the session cookie proves.

    Without the CSRF token it proves nothing; that is refused where no other credential was sent.
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


@extend_schema(tags=["account"], auth=ACCOUNT)
class ProfileViewSet(OwnedViewSet):
    @extend_schema(operation_id="readProfile", responses={200: ProfileSerializer})
    def retrieve(self, request: Request) -> Response:
        """The user who calls."""
        return Response(ProfileSerializer.render(self.owner))

    @extend_schema(
        operation_id="changeProfile",
        request=ProfileChangeSerializer,
        responses={200: ProfileSerializer},
    )
    def partial_update(self, request: Request) -> Response:
        """Change the name."""
        changes = self.read(ProfileChangeSerializer)
        user = services.change_profile(user=self.owner, **changes, now=self.now)
        return Response(ProfileSerializer.render(user))


@extend_schema(tags=["account"], auth=ACCOUNT)
class PasswordViewSet(OwnedViewSet):
    @extend_schema(
        operation_id="changePassword",
        request=PasswordChangeSerializer,
        responses={200: DoneSerializer},
    )
    def create(self, request: Request) -> Response:
        """Set a new password, and end all other sessions."""
        services.change_password(
            user=self.owner,
            session=session_of_call(request),
            **self.read(PasswordChangeSerializer),
            now=self.now,
        )
        message = "The password is changed; other sessions have ended."
        return Response(DoneSerializer.render({"success": True, "message": message}))


@extend_schema(tags=["account"], auth=ACCOUNT)
class SessionViewSet(OwnedViewSet):
    @extend_schema(operation_id="listSessions", responses=SessionSerializer(many=True))
    def list(self, request: Request) -> Response:
        """Where the user is signed in."""
        rows = services.live_sessions(self.owner, current=session_of_call(request), now=self.now)
        return self.page(rows, SessionSerializer)

    @extend_schema(operation_id="endSession", parameters=[SET_COOKIE], responses={204: None})
    def destroy(self, request: Request, session_id: str) -> Response:
        """End one session."""
        services.end_session(user=self.owner, session_id=session_id, now=self.now)
        is_current = session_id == session_of_call(request).pk
        return _logged_out(request) if is_current else Response(status=204)

    @extend_schema(operation_id="endSessions", parameters=[SET_COOKIE], responses={204: None})
    def destroy_all(self, request: Request) -> Response:
        """End all sessions, the current one too."""
        services.end_all_sessions(user=self.owner, now=self.now)
        return _logged_out(request)


def _logged_out(request: Request) -> Response:
    """Clear the cookies, which are of no more use."""
    response = Response(status=204)
    cookies.clear_refresh_token(response)
    cookies.log_browser_out(request)
    return response


@extend_schema(tags=["account"], auth=ACCOUNT)
class KeyViewSet(OwnedViewSet):
    lookup_url_kwarg = "key_id"

    @extend_schema(operation_id="listKeys", responses=KeySerializer(many=True))
    def list(self, request: Request) -> Response:
        """The API keys of the user's programs."""
        return self.page(services.keys_of(self.owner), KeySerializer)

    @extend_schema(
        operation_id="createKey", request=NewKeySerializer, responses={201: CreatedKeySerializer}
    )
    @refuses(TooManyKeys)
    def create(self, request: Request) -> Response:
        """Make an API key."""
        key, text = services.create_key(
            user=self.owner, **self.read(NewKeySerializer), now=self.now
        )
        return Response({**KeySerializer.render(key), "key": text}, status=201)

    @extend_schema(operation_id="revokeKey", responses={204: None})
    def destroy(self, request: Request, key_id: str) -> Response:
        """End an API key."""
        services.revoke_key(user=self.owner, key_id=key_id, now=self.now)
        return Response(status=204)
