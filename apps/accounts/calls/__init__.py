"""The caller of a request: tokens, cookies, keys, devices and recent proofs."""

from apps.accounts.calls.admin_login import ADMIN_BEGAN, ADMIN_USED, log_operator_in
from apps.accounts.calls.archives import archive_response
from apps.accounts.calls.authentication import identify, operator_of, origin_of
from apps.accounts.calls.cookies import log_browser_in, log_browser_out
from apps.accounts.calls.devices import device_of, remember_device
from apps.accounts.calls.proof import needs_recent_proof

__all__ = [
    "ADMIN_BEGAN",
    "ADMIN_USED",
    "archive_response",
    "device_of",
    "identify",
    "log_browser_in",
    "log_browser_out",
    "log_operator_in",
    "needs_recent_proof",
    "operator_of",
    "origin_of",
    "remember_device",
]
