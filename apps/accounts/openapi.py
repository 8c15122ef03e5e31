"""What the OpenAPI document says of /api/auth."""

from typing import Final

from apps.accounts import email_addresses, serializers
from apps.accounts.api_keys import KeyScope
from apps.core.errors import Code
from apps.core.openapi import (
    FLAG,
    ID,
    ID_SHOWN,
    INTEGER,
    MOMENT,
    MOMENT_SHOWN,
    OF_ACCOUNT,
    PAGED,
    TEXT,
    Answer,
    Operation,
    Schema,
    Sent,
    array,
    body_schema,
    described,
    nullable,
    one_of,
    page_of,
    page_shown,
    place,
    record,
    ref,
)

_TAG: Final = "account"
_EMAIL: Final[Schema] = {
    "type": "string",
    "format": "email",
    "description": "Without a quoted name or a bare IP address.",
    "pattern": "^[!-~]*$",
    "maxLength": email_addresses.MAX_LENGTH,
}
_IDENTITY: Final[dict[str, Schema]] = {
    "id": ID,
    "email": TEXT,
    "name": TEXT,
    "emailVerified": FLAG,
}
_ROLE: Final = one_of(("user", "operator", "admin"))
_ACCESS: Final[dict[str, Schema]] = {
    "accessToken": TEXT,
    "expiresIn": described(INTEGER, "Seconds."),
}
_SCOPES: Final = array(one_of([scope.value for scope in KeyScope]), minItems=1, maxItems=3)
_KEY: Final[dict[str, Schema]] = {
    "id": ID,
    "name": TEXT,
    "scopes": _SCOPES,
    "lastFour": TEXT,
    "createdAt": MOMENT,
    "lastUsedAt": nullable(MOMENT),
    "expiresAt": nullable(MOMENT),
}


def _signed_in(user: str) -> Schema:
    return record({"success": FLAG, "message": TEXT, "user": ref(user), **_ACCESS})


SCHEMAS: Final[dict[str, Schema]] = {
    "SignUp": body_schema(serializers.SignUpBody, email=_EMAIL),
    "LogIn": body_schema(serializers.LogInBody),
    "ProfileChange": body_schema(serializers.ProfileBody),
    "PasswordChange": body_schema(serializers.PasswordBody),
    "NewKey": body_schema(serializers.KeyBody, scopes={**_SCOPES, "uniqueItems": True}),
    "NewUser": record({**_IDENTITY, "createdAt": MOMENT}),
    "KnownUser": record({**_IDENTITY, "role": _ROLE}),
    "Profile": record({**_IDENTITY, "role": _ROLE, "createdAt": MOMENT}),
    "SignedUp": _signed_in("NewUser"),
    "LoggedIn": _signed_in("KnownUser"),
    "Renewed": record({"success": FLAG, **_ACCESS}),
    "Done": record({"success": FLAG, "message": TEXT}),
    "Session": record(
        {
            "id": ID,
            "createdAt": MOMENT,
            "lastUsedAt": MOMENT,
            "address": TEXT,
            "userAgent": TEXT,
            "current": FLAG,
        }
    ),
    "Key": record(_KEY),
    "CreatedKey": record({**_KEY, "key": described(TEXT, "The key itself, shown this once.")}),
}

_USER_SHOWN: Final = {
    "id": ID_SHOWN,
    "email": "trader@example.com",
    "name": "A Trader",
    "emailVerified": False,
}
_PROFILE_SHOWN: Final = {**_USER_SHOWN, "role": "user", "createdAt": MOMENT_SHOWN}
_ACCESS_SHOWN: Final = {"accessToken": "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl", "expiresIn": 900}
_KEY_SHOWN: Final = {
    "id": ID_SHOWN,
    "name": "Night runner",
    "scopes": ["read"],
    "lastFour": "x7Qk",
    "createdAt": MOMENT_SHOWN,
    "lastUsedAt": None,
    "expiresAt": None,
}
_SESSION_SHOWN: Final = {
    "id": ID_SHOWN,
    "createdAt": MOMENT_SHOWN,
    "lastUsedAt": MOMENT_SHOWN,
    "address": "127.0.0.1",
    "userAgent": "curl/8.5.0",
    "current": True,
}
_PASSWORD_SHOWN: Final = "a long password"
_CREDENTIALS_SHOWN: Final = {"email": "trader@example.com", "password": _PASSWORD_SHOWN}
_COOKIE: Final = ("Set-Cookie",)
_GONE: Final = {404: (Code.NOT_FOUND,)}

SIGN_UP: Final = Operation(
    name="signUp",
    summary="Register, and open a first session",
    tag=_TAG,
    security=(),
    body=Sent(ref("SignUp"), {**_CREDENTIALS_SHOWN, "name": "A Trader"}),
    answers={
        201: Answer(
            "The new user, an access token, and the refresh cookie.",
            ref("SignedUp"),
            {
                "success": True,
                "message": "Welcome.",
                "user": {**_USER_SHOWN, "createdAt": MOMENT_SHOWN},
                **_ACCESS_SHOWN,
            },
            _COOKIE,
        )
    },
    refusals={409: (Code.CONFLICT,)},
)
LOG_IN: Final = Operation(
    name="logIn",
    summary="Open a session",
    text="With `sessionCookie` true a browser is also signed in by a cookie of its own.",
    tag=_TAG,
    security=(),
    body=Sent(ref("LogIn"), _CREDENTIALS_SHOWN),
    answers={
        200: Answer(
            "The user, an access token, and the refresh cookie.",
            ref("LoggedIn"),
            {
                "success": True,
                "message": "Logged in.",
                "user": {**_USER_SHOWN, "role": "user"},
                **_ACCESS_SHOWN,
            },
            _COOKIE,
        )
    },
    refusals={401: (Code.UNAUTHORIZED,)},
)
REFRESH: Final = Operation(
    name="refreshToken",
    summary="A new access token for the refresh cookie",
    text="Now and then the answer also replaces the cookie; a client keeps the newest.",
    tag=_TAG,
    security=({"refreshCookie": []},),
    answers={
        200: Answer(
            "A new access token.", ref("Renewed"), {"success": True, **_ACCESS_SHOWN}, _COOKIE
        )
    },
)
LOG_OUT: Final = Operation(
    name="logOut",
    summary="End the session that any of the credentials proves",
    tag=_TAG,
    security=({"accessToken": []}, {"refreshCookie": []}, {"sessionCookie": []}),
    answers={
        200: Answer(
            "It has ended, and the cookies are cleared.",
            ref("Done"),
            {"success": True, "message": "Logged out."},
            _COOKIE,
        )
    },
)
READ_PROFILE: Final = Operation(
    name="readProfile",
    summary="The user who calls",
    tag=_TAG,
    security=OF_ACCOUNT,
    answers={200: Answer("The user.", ref("Profile"), _PROFILE_SHOWN)},
)
CHANGE_PROFILE: Final = Operation(
    name="changeProfile",
    summary="Change the name",
    tag=_TAG,
    security=OF_ACCOUNT,
    body=Sent(ref("ProfileChange"), {"name": "A Trader"}, required=False),
    answers={200: Answer("The user as it is now.", ref("Profile"), _PROFILE_SHOWN)},
)
CHANGE_PASSWORD: Final = Operation(
    name="changePassword",
    summary="Set a new password, and end all other sessions",
    tag=_TAG,
    security=OF_ACCOUNT,
    body=Sent(
        ref("PasswordChange"),
        {"currentPassword": _PASSWORD_SHOWN, "newPassword": "a longer password"},
    ),
    answers={
        200: Answer(
            "It is changed.",
            ref("Done"),
            {"success": True, "message": "The password is changed; other sessions have ended."},
        )
    },
)
LIST_SESSIONS: Final = Operation(
    name="listSessions",
    summary="Where the user is signed in",
    tag=_TAG,
    security=OF_ACCOUNT,
    parameters=PAGED,
    answers={200: Answer("Living sessions.", page_of(ref("Session")), page_shown(_SESSION_SHOWN))},
)
END_SESSIONS: Final = Operation(
    name="endSessions",
    summary="End all sessions, the current one too",
    tag=_TAG,
    security=OF_ACCOUNT,
    answers={204: Answer("They have ended.", headers=_COOKIE)},
)
END_SESSION: Final = Operation(
    name="endSession",
    summary="End one session",
    tag=_TAG,
    security=OF_ACCOUNT,
    parameters=(place("session_id", "The session."),),
    answers={204: Answer("It has ended.", headers=_COOKIE)},
    refusals=_GONE,
)
LIST_KEYS: Final = Operation(
    name="listKeys",
    summary="The API keys of the user's programs",
    tag=_TAG,
    security=OF_ACCOUNT,
    parameters=PAGED,
    answers={200: Answer("Living keys.", page_of(ref("Key")), page_shown(_KEY_SHOWN))},
)
CREATE_KEY: Final = Operation(
    name="createKey",
    summary="Make an API key",
    tag=_TAG,
    security=OF_ACCOUNT,
    body=Sent(ref("NewKey"), {"name": "Night runner", "scopes": ["read"]}),
    answers={
        201: Answer(
            "The key, shown this once.",
            ref("CreatedKey"),
            {**_KEY_SHOWN, "key": "atk_examplexampleexamplexampleexamplex7Qk"},
        )
    },
    refusals={422: (Code.UNPROCESSABLE_ENTITY,)},
)
REVOKE_KEY: Final = Operation(
    name="revokeKey",
    summary="End an API key",
    tag=_TAG,
    security=OF_ACCOUNT,
    parameters=(place("key_id", "The key."),),
    answers={204: Answer("It opens nothing any more.")},
    refusals=_GONE,
)
