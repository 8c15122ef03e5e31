"""/api/auth: signing up, logging in and out; a user's own profile, password, sessions and keys."""

from typing import Any, Final

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.calls import cookies
from apps.accounts.calls.archives import archive_response
from apps.accounts.calls.authentication import bearer_token, origin_of, session_of_call
from apps.accounts.calls.proof import needs_recent_proof
from apps.accounts.credentials import passwords
from apps.accounts.login import email_links, services, tokens, two_factor
from apps.accounts.login.email_links import AlreadyVerified
from apps.accounts.login.login_limits import AuthRealm, count_failure
from apps.accounts.login.services import (
    EmailTaken,
    RecentProofRequired,
    TwoFactorRequired,
    WrongCode,
    WrongCredentials,
)
from apps.accounts.login.two_factor import FactorOff, FactorOn
from apps.accounts.mails import MailUnavailable
from apps.accounts.own_data import activity, closing, exports
from apps.accounts.own_data.exports import ExportNotReady
from apps.accounts.serializers import (
    AccessSerializer,
    ActivitySerializer,
    AddressChangeSerializer,
    CodeSerializer,
    CreatedKeySerializer,
    DoneSerializer,
    ExportSerializer,
    FactorSecretSerializer,
    KeySerializer,
    LimitsSerializer,
    LoggedInSerializer,
    LogInSerializer,
    NewKeySerializer,
    PasswordChangedSerializer,
    PasswordChangeSerializer,
    ProfileChangeSerializer,
    ProfileSerializer,
    ProofSerializer,
    RecoveryCodesSerializer,
    RenewedSerializer,
    ResetRequestSerializer,
    SessionSerializer,
    SignedUpSerializer,
    SignUpSerializer,
    TwoFactorSerializer,
)
from apps.core import limits
from apps.core.api.resources import (
    ACCOUNT,
    LOG_OUT,
    NO_FIELDS,
    REFRESH,
    EmptyBody,
    OwnedViewSet,
    answer_header,
    refuses,
)
from apps.core.errors import Forbidden
from apps.core.limits import QuotaExceeded
from apps.core.times import wire_time

SET_COOKIE: Final = answer_header("Set-Cookie")


def _access(access_token: str) -> dict[str, object]:
    seconds = int(tokens.ACCESS_LIFETIME.total_seconds())
    return {"access_token": access_token, "expires_in": seconds}


@extend_schema(tags=["account"])
class EntryViewSet(OwnedViewSet):
    """Calls that open a session: for a new user, or for a user with the password."""

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
        """Register, and open a first session.

        If the password is one of the 1,000 most common ones, `message` ends with a warning. The
        access token is in the body, the refresh token in a cookie. If the service can send mails,
        it sends a link that verifies the address.
        """
        body = self.read(SignUpSerializer)
        issued = services.sign_up(**body, **origin_of(request), now=self.now)
        message = passwords.with_password_warning("Welcome.", body["password"])
        return _logged_in(issued, SignedUpSerializer, message=message, status=201)

    @extend_schema(
        operation_id="logIn",
        parameters=[SET_COOKIE],
        request=LogInSerializer,
        responses={200: LoggedInSerializer},
    )
    @refuses(WrongCredentials, TwoFactorRequired, WrongCode)
    def log_in(self, request: Request) -> Response:
        """Open a session.

        With `sessionCookie` true the browser also gets a cookie that signs it in.
        """
        body = self.read(LogInSerializer)
        wants_cookie = body.pop("session_cookie", False)
        with count_failure(email=body["email"], realm=AuthRealm.API, now=self.now):
            issued = services.log_in(**body, **origin_of(request), now=self.now)
        if wants_cookie:
            cookies.log_browser_in(request._request, issued.session)
        return _logged_in(issued, LoggedInSerializer, message="Logged in.", status=200)


def _logged_in(
    issued: tokens.IssuedTokens,
    serializer: type[SignedUpSerializer | LoggedInSerializer],
    *,
    message: str,
    status: int,
) -> Response:
    values = {"message": message, "user": issued.session.user}
    return _with_tokens(issued, serializer, values, status=status)


def _with_tokens(
    issued: tokens.IssuedTokens,
    serializer: type[AccessSerializer],
    values: dict[str, object],
    *,
    status: int = 200,
) -> Response:
    """Answer with the tokens of a new session: one in the body, one in the cookie."""
    body = serializer.render({"success": True, **values, **_access(issued.access)})
    response = Response(body, status)
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
        """Get a new access token for the refresh cookie.

        Some answers also replace the cookie; a client keeps the newest.
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
        """Clear a refused cookie."""
        if response.status_code == 401:
            cookies.clear_refresh_token(response)
        return super().finalize_response(request, response, *args, **kwargs)


@extend_schema(tags=["account"])
class LogOutViewSet(OwnedViewSet):
    """Log out by any of access token, refresh cookie and session cookie, expired or not."""

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
        """End the session of each credential sent.

        The cookies are cleared. API keys are not accepted; without any valid credential the answer
        is 401.
        """
        cookies.refuse_cross_site(request)
        services.log_out(
            access_token=bearer_token(request),
            refresh_token=cookies.refresh_token_in(request),
            browser_session=_browser_session(request),
            now=self.now,
        )
        cookies.log_browser_out(request._request)
        return Response(DoneSerializer.render({"success": True, "message": "Logged out."}))

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        cookies.clear_refresh_token(response)
        return super().finalize_response(request, response, *args, **kwargs)


def _browser_session(request: Request) -> str | None:
    """Return the id of the session that the session cookie proves.

    Without the CSRF token it proves nothing; if no other credential was sent, the call is then
    refused.
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
        """Get the user who calls.

        Their name, address and role, and whether the address is verified.
        """
        return Response(ProfileSerializer.render(self.owner))

    @extend_schema(
        operation_id="changeProfile",
        request=ProfileChangeSerializer,
        responses={200: ProfileSerializer},
    )
    def partial_update(self, request: Request) -> Response:
        """Change the name, the display name or both.

        Absent fields stay. Address and password have their own calls.
        """
        changes = self.read(ProfileChangeSerializer)
        user = services.change_profile(user=self.owner, **changes, now=self.now)
        return Response(ProfileSerializer.render(user))

    @extend_schema(
        operation_id="closeAccount",
        parameters=[SET_COOKIE],
        responses={200: DoneSerializer},
    )
    @needs_recent_proof
    def destroy(self, request: Request) -> Response:
        """Close the account.

        Its runs are stopped, sessions and keys end, and after seven days everything of the account
        but the audit log is erased. A login before then keeps the account.
        """
        erase_at = closing.close_account(user=self.owner, now=self.now)
        response = _done(f"The account is closed, and erased at {wire_time(erase_at)}.")
        cookies.clear_refresh_token(response)
        cookies.log_browser_out(request._request)
        return response


@extend_schema(tags=["account"], auth=ACCOUNT)
class PasswordViewSet(OwnedViewSet):
    @extend_schema(
        operation_id="changePassword",
        parameters=[SET_COOKIE],
        request=PasswordChangeSerializer,
        responses={200: PasswordChangedSerializer},
    )
    @refuses(RecentProofRequired)
    def create(self, request: Request) -> Response:
        """Set a new password, and end all sessions.

        A new session replaces the caller's: its tokens are in the answer. With two-factor
        authentication the call also needs a recent proof.
        """
        body, session = self.read(PasswordChangeSerializer), session_of_call(request)
        with count_failure(email=self.owner.email, realm=AuthRealm.API, now=self.now):
            services.check_password(
                user=self.owner,
                session=session,
                password=body["current_password"],
                now=self.now,
                field="currentPassword",
            )
        if two_factor.has_two_factor(self.owner):
            services.require_recent_proof(session, now=self.now)
        issued = services.change_password(
            user=self.owner, session=session, new_password=body["new_password"], now=self.now
        )
        if cookies.session_id_in(request._request) is not None:
            cookies.log_browser_in(request._request, issued.session)
        message = passwords.with_password_warning(
            "The password is changed; other sessions have ended.", body["new_password"]
        )
        return _with_tokens(issued, PasswordChangedSerializer, {"message": message})


@extend_schema(tags=["account"], auth=ACCOUNT)
class ProofViewSet(OwnedViewSet):
    @extend_schema(
        operation_id="proveIdentity", request=ProofSerializer, responses={200: DoneSerializer}
    )
    def create(self, request: Request) -> Response:
        """Prove your identity.

        For ten minutes the session may then make keys, webhook secrets and an archive of the data,
        change the address, turn the second factor on or off, close the account and, with a second
        factor, change the password. A login counts as a proof too, but not for turning the second
        factor on.
        """
        body = self.read(ProofSerializer)
        with count_failure(email=self.owner.email, realm=AuthRealm.API, now=self.now):
            services.prove(
                user=self.owner,
                session=session_of_call(request),
                password=body["password"],
                code=body.get("code"),
                now=self.now,
            )
        return _done("This session is proved for ten minutes.")


@extend_schema(tags=["account"], auth=ACCOUNT)
class EmailViewSet(OwnedViewSet):
    """The address of an account, by links in mails."""

    @extend_schema(
        operation_id="sendVerification", request=NO_FIELDS, responses={200: DoneSerializer}
    )
    @refuses(AlreadyVerified, MailUnavailable)
    def send_verification(self, request: Request) -> Response:
        """Send a link that verifies the e-mail address; it works once, for 24 hours.

        It goes to the address of the account; 422 if that is verified already. While a link is
        valid, the same one is sent again, at most three times an hour and ten times a day.
        """
        self.read(EmptyBody)
        email_links.send_verification(user=self.owner, now=self.now)
        return _done("The mail is on its way.")

    @extend_schema(
        operation_id="changeEmail",
        request=AddressChangeSerializer,
        responses={200: DoneSerializer},
    )
    @needs_recent_proof
    @refuses(MailUnavailable)
    def change(self, request: Request) -> Response:
        """Change the e-mail address, by a link sent to the old address and one sent to the new.

        Until both links are used the old address stays; they work for 24 hours, and a request for
        another address makes them void. The answer does not reveal whether the new address has an
        account. At most three such mails an hour reach an address, and leave for a user.
        """
        body = self.read(AddressChangeSerializer)
        email_links.request_new_address(user=self.owner, new_email=body["email"], now=self.now)
        return _done("Both addresses get a mail; the change is made when both links are used.")


@extend_schema(tags=["account"])
class ResetViewSet(OwnedViewSet):
    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        operation_id="requestPasswordReset",
        request=ResetRequestSerializer,
        responses={200: DoneSerializer},
    )
    @refuses(MailUnavailable)
    def create(self, request: Request) -> Response:
        """Send a link for a new password, if the account exists; the answer does not reveal that.

        The link works once, for 30 minutes, and opens a page that asks for the new password.
        """
        body = self.read(ResetRequestSerializer)
        email_links.request_reset(email=body["email"])
        return _done("If there is such an account, a mail is on its way.")


@extend_schema(tags=["account"], auth=ACCOUNT)
class TwoFactorViewSet(OwnedViewSet):
    """The second factor: one-time codes of an authenticator, and recovery codes."""

    @extend_schema(operation_id="readTwoFactor", responses={200: TwoFactorSerializer})
    def retrieve(self, request: Request) -> Response:
        """Get the state of two-factor authentication, and the number of unused recovery codes.

        `since` is null while it is off. The secret and the codes are never shown here.
        """
        return Response(TwoFactorSerializer.render(two_factor.two_factor_state_of(self.owner)))

    @extend_schema(
        operation_id="beginTwoFactor", request=NO_FIELDS, responses={200: FactorSecretSerializer}
    )
    @refuses(FactorOn, RecentProofRequired)
    def begin(self, request: Request) -> Response:
        """Make a secret for an authenticator; it takes effect once a code confirms it.

        The call needs a proof of the last ten minutes by `POST /api/auth/proof`; a login does not
        count. The answer is its `otpauth` URI, shown once. A repeated call before confirmation
        replaces the secret.
        """
        self.read(EmptyBody)
        services.require_proof_after_login(session_of_call(request), now=self.now)
        uri = two_factor.begin_two_factor(user=self.owner, now=self.now)
        return Response(FactorSecretSerializer.render({"uri": uri}))

    @extend_schema(
        operation_id="confirmTwoFactor",
        request=CodeSerializer,
        responses={200: RecoveryCodesSerializer},
    )
    @needs_recent_proof
    @refuses(FactorOn, FactorOff)
    def confirm(self, request: Request) -> Response:
        """Turn two-factor authentication on, by a first code.

        Logins need a code from now on. The answer has ten recovery codes, each for one use. They
        are not shown again.
        """
        body = self.read(CodeSerializer)
        with count_failure(email=self.owner.email, realm=AuthRealm.API, now=self.now):
            codes = two_factor.confirm_two_factor(user=self.owner, code=body["code"], now=self.now)
        return Response(RecoveryCodesSerializer.render({"recovery_codes": codes}))

    @extend_schema(
        operation_id="renewRecoveryCodes",
        request=NO_FIELDS,
        responses={200: RecoveryCodesSerializer},
    )
    @needs_recent_proof
    @refuses(FactorOff)
    def renew_codes(self, request: Request) -> Response:
        """Replace all recovery codes.

        The earlier ones, used or not, are void. The ten new ones are shown only in this answer.
        """
        self.read(EmptyBody)
        codes = two_factor.renew_recovery_codes(user=self.owner, now=self.now)
        return Response(RecoveryCodesSerializer.render({"recovery_codes": codes}))

    @extend_schema(operation_id="endTwoFactor", responses={204: None})
    @needs_recent_proof
    @refuses(FactorOff)
    def destroy(self, request: Request) -> Response:
        """Turn two-factor authentication off.

        The secret and the recovery codes are deleted; logins need only the password.
        """
        two_factor.turn_off_two_factor(user=self.owner, now=self.now)
        return Response(status=204)


@extend_schema(tags=["account"], auth=ACCOUNT)
class SecurityLogViewSet(OwnedViewSet):
    @extend_schema(operation_id="listActivity", responses=ActivitySerializer(many=True))
    def list(self, request: Request) -> Response:
        """List the security events of the account: logins, passwords, keys, addresses.

        The newest first, attempts by others included.
        """
        return self.page(activity.activity_of(self.owner), ActivitySerializer)


@extend_schema(tags=["account"], auth=ACCOUNT)
class ExportViewSet(OwnedViewSet):
    """All data stored about the user, in one archive."""

    @extend_schema(operation_id="exportData", request=NO_FIELDS, responses={201: ExportSerializer})
    @needs_recent_proof
    def create(self, request: Request) -> Response:
        """Make an archive of all data stored about the user.

        A job makes it, and it replaces the last one. `archive` is the call that fetches it, for 24
        hours after it is ready. While an archive is being made, the answer is that archive; another
        can be requested an hour later.
        """
        self.read(EmptyBody)
        export = exports.request_export(user=self.owner, now=self.now)
        return Response(ExportSerializer.render(export), status=201)

    @extend_schema(operation_id="readExport", responses={200: ExportSerializer})
    def retrieve(self, request: Request, export_id: str) -> Response:
        """Get the state of an archive.

        `readyAt` is null while it is being made. 24 hours after it is ready the archive is deleted,
        and the answer is 404.
        """
        export = exports.find_export(user=self.owner, export_id=export_id, now=self.now)
        return Response(ExportSerializer.render(export))

    @extend_schema(
        operation_id="fetchExport",
        parameters=[answer_header("Content-Disposition")],
        responses={(200, "application/zip"): OpenApiTypes.BINARY},
    )
    @needs_recent_proof
    @refuses(ExportNotReady)
    def archive(self, request: Request, export_id: str) -> StreamingHttpResponse:
        """Fetch the archive: a ZIP file with a table of each kind, as CSV and as JSON.

        409 while it is being made. It contains no passwords, secrets or texts of keys.
        """
        export = exports.find_export(user=self.owner, export_id=export_id, now=self.now)
        return archive_response(export)


@extend_schema(tags=["account"], auth=ACCOUNT)
class LimitViewSet(OwnedViewSet):
    @extend_schema(operation_id="readLimits", responses={200: LimitsSerializer})
    def retrieve(self, request: Request) -> Response:
        """List the limits of the account, and the use of each.

        One row for each resource. Rate limits are not included: the X-RateLimit headers of every
        answer show them.
        """
        return Response(LimitsSerializer.render({"limits": limits.usages(self.owner.pk)}))


def _done(message: str) -> Response:
    return Response(DoneSerializer.render({"success": True, "message": message}))


@extend_schema(tags=["account"], auth=ACCOUNT)
class SessionViewSet(OwnedViewSet):
    @extend_schema(operation_id="listSessions", responses=SessionSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List the logins of the user.

        Live sessions, the newest first; `current` marks the session of this call. API keys are not
        sessions.
        """
        rows = services.live_sessions(self.owner, current=session_of_call(request), now=self.now)
        return self.page(rows, SessionSerializer)

    @extend_schema(operation_id="endSession", parameters=[SET_COOKIE], responses={204: None})
    def destroy(self, request: Request, session_id: str) -> Response:
        """End one session.

        Its tokens are refused from now on. If it is the session of this call, its cookies are
        cleared too.
        """
        services.end_session(user=self.owner, session_id=session_id, now=self.now)
        is_current = session_id == session_of_call(request).pk
        return _logged_out(request) if is_current else Response(status=204)

    @extend_schema(operation_id="endSessions", parameters=[SET_COOKIE], responses={204: None})
    def destroy_all(self, request: Request) -> Response:
        """End all sessions, the current one included.

        Their tokens are refused from now on. API keys stay valid.
        """
        services.end_all_sessions(user=self.owner, now=self.now)
        return _logged_out(request)


def _logged_out(request: Request) -> Response:
    response = Response(status=204)
    cookies.clear_refresh_token(response)
    cookies.log_browser_out(request._request)
    return response


@extend_schema(tags=["account"], auth=ACCOUNT)
class KeyViewSet(OwnedViewSet):
    lookup_url_kwarg = "key_id"

    @extend_schema(operation_id="listKeys", responses=KeySerializer(many=True))
    def list(self, request: Request) -> Response:
        """List the API keys of the user's programs.

        The newest first, with expired and without revoked ones. The text of a key is never shown
        again.
        """
        return self.page(services.keys_of(self.owner), KeySerializer)

    @extend_schema(
        operation_id="createKey", request=NewKeySerializer, responses={201: CreatedKeySerializer}
    )
    @needs_recent_proof
    @refuses(QuotaExceeded)
    def create(self, request: Request) -> Response:
        """Make an API key.

        Its text is only in this answer. Its scopes limit its calls. It expires in 90 days unless
        `expiresAt` says otherwise.
        """
        body = {"expires_at": self.now + services.KEY_LIFETIME, **self.read(NewKeySerializer)}
        key, text = services.create_key(user=self.owner, **body, now=self.now)
        return Response({**KeySerializer.render(key), "key": text}, status=201)

    @extend_schema(operation_id="revokeKey", responses={204: None})
    def destroy(self, request: Request, key_id: str) -> Response:
        """End an API key.

        Calls with it are refused from now on; it cannot be made valid again.
        """
        services.revoke_key(user=self.owner, key_id=key_id, now=self.now)
        return Response(status=204)
