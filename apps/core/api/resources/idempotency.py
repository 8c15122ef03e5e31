"""`Idempotency-Key`: a POST that is sent twice is done once.

Key, work and answer commit in one transaction, so a crash leaves none of them. A second request
that arrives during the first waits for it on the key's unique index. Answers are stored encrypted.

A key belongs to a user, a method and a path. If the answer holds a secret, the key belongs to the
credential: another credential of the user may use the same key for a new request.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import wraps
from hashlib import sha256
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from django.db import OperationalError, connection, transaction
from django.http import HttpResponse
from psycopg.errors import LockNotAvailable
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core.api import exceptions
from apps.core.api.renderers import JsonRenderer
from apps.core.database import encryption, server_clock
from apps.core.errors import Code, Fault, InvalidInput, ServiceError
from apps.core.models import IdempotencyKey
from apps.core.requests import request_origin

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotent-Replayed"
_KEPT: Final = timedelta(hours=24)
WAIT: Final = "2s"
REFUSALS_STORED: Final = frozenset({403, 404, 422})
_FORM = re.compile(r"[\x21-\x7e]{1,255}")

CLAIM = """
    INSERT INTO core_idempotencykey
        (user_id, credential, method, path, key, fingerprint, expires_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (user_id, credential, method, path, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, expires_at = excluded.expires_at,
        status = NULL, body = NULL
    WHERE core_idempotencykey.expires_at <= %s
    RETURNING id
"""

ViewType = TypeVar("ViewType")
PathArguments = ParamSpec("PathArguments")
ViewMethod = Callable[Concatenate[ViewType, Request, PathArguments], Response]


class KeyReused(ServiceError):
    """The key was already used for another request."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "This Idempotency-Key was used with another body; use a new key for a new request."


class StillRunning(ServiceError):
    """The first request with this key has not been answered yet."""

    code = Code.CONFLICT
    message = "The first request with this Idempotency-Key is still running; try again."


class AnswerLost(ServiceError):
    """The first answer was encrypted with another SECRET_KEY."""

    code = Code.CONFLICT
    message = "The first answer to this Idempotency-Key cannot be read any more; use a new key."


def idempotent(
    method: ViewMethod[ViewType, PathArguments],
) -> Callable[Concatenate[ViewType, Request, PathArguments], Response | HttpResponse]:
    """Wrap a view's POST method.

    Answers with 2xx, 403, 404 or 422 are stored and replayed for 24 hours; other answers leave no
    trace.
    """
    return _wrapped(method, holds_secret=False)


def idempotent_with_secret(
    method: ViewMethod[ViewType, PathArguments],
) -> Callable[Concatenate[ViewType, Request, PathArguments], Response | HttpResponse]:
    """Wrap a view's POST method that answers with a secret.

    The answer is replayed only to the session or API key that made the first request.
    """
    return _wrapped(method, holds_secret=True)


def _wrapped(
    method: ViewMethod[ViewType, PathArguments], *, holds_secret: bool
) -> Callable[Concatenate[ViewType, Request, PathArguments], Response | HttpResponse]:
    @wraps(method)
    def keyed(
        view: ViewType,
        request: Request,
        /,
        *args: PathArguments.args,
        **kwargs: PathArguments.kwargs,
    ) -> Response | HttpResponse:
        key = _key_of(request)
        if key is None:
            return method(view, request, *args, **kwargs)
        credential = request_origin.current_origin().session_id if holds_secret else ""
        with transaction.atomic():
            row, is_new = _claimed(request, key, credential=credential, now=server_clock.now())
            if not is_new:
                return _replay(row, _fingerprint(request.data))
            response = _answer(lambda: method(view, request, *args, **kwargs))
            row.status = response.status_code
            row.body = encryption.encrypt(JsonRenderer().render(response.data))
            row.save(update_fields=["status", "body"])
            return response

    keyed.is_idempotent = True  # type: ignore[attr-defined]  # for the OpenAPI document
    return keyed


def _key_of(request: Request) -> str | None:
    key = request.headers.get(HEADER)
    if key is not None and not _FORM.fullmatch(key):
        raise InvalidInput(Fault(HEADER, "must be 1 to 255 visible ASCII characters", key))
    return key


def _claimed(
    request: Request, key: str, *, credential: str, now: datetime
) -> tuple[IdempotencyKey, bool]:
    """Return the key's row, and True if this request must fill it.

    Wait for another request that is filling it. Raises StillRunning.
    """
    unique = {
        "user_id": request.user.pk,
        "credential": credential,
        "method": request.method,
        "path": request.path,
        "key": key,
    }
    values = [*unique.values(), _fingerprint(request.data), now + _KEPT, now]
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [WAIT])
            cursor.execute(CLAIM, values)
            is_new = cursor.fetchone() is not None
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise StillRunning(retryAfter=1) from error
        raise
    return IdempotencyKey.objects.get(**unique), is_new


def _fingerprint(data: Mapping[str, Any] | list[Any]) -> str:
    """Return a hash of the body as canonical JSON; an absent body equals {}."""
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode()).hexdigest()


def _replay(row: IdempotencyKey, fingerprint: str) -> HttpResponse:
    if row.fingerprint != fingerprint:
        raise KeyReused
    try:
        body = encryption.decrypt(bytes(row.body or b""))
    except encryption.DecryptionFailed:
        raise AnswerLost from None
    return HttpResponse(
        body,
        status=row.status,
        content_type="application/json",
        headers={REPLAYED: "true"},
    )


def _answer(operation: Callable[[], Response]) -> Response:
    """Return the answer of the operation. A refusal that will be stored rolls back its changes."""
    try:
        with transaction.atomic():
            return operation()
    except ServiceError as refusal:
        body = exceptions.render_service_error(refusal)
        status = int(str(body["error"]["status"]))
        if status not in REFUSALS_STORED:
            raise
        return Response(body, status=status)
