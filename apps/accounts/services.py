"""The verbs of accounts, as other apps call them."""

from apps.accounts.credentials.api_keys import KeyScope
from apps.accounts.credentials.email_addresses import normalize as normalize_address
from apps.accounts.credentials.passwords import IS_COMMON as IS_COMMON_PASSWORD
from apps.accounts.credentials.passwords import is_common as is_common_password
from apps.accounts.credentials.passwords import is_fit_for_operators
from apps.accounts.credentials.passwords import with_warning as with_password_warning
from apps.accounts.login.email_links import (
    confirm_new_address,
    find_link,
    request_new_address,
    request_reset,
    reset_password,
    send_verification,
    verify_address,
)
from apps.accounts.login.login_limits import Entrance, NotAFailure, count_failure, record_login
from apps.accounts.login.services import (
    DEACTIVATE_JOB,
    DEACTIVATE_QUEUE,
    KEY_LIFETIME,
    EmailTaken,
    TwoFactorRequired,
    WrongCode,
    WrongCredentials,
    change_password,
    change_profile,
    create_key,
    end_session,
    end_when_idle,
    end_with_old_password,
    keys_of,
    live_sessions,
    log_in,
    log_out,
    prove,
    require_proof_after_login,
    revoke_key,
    sign_up,
)
from apps.accounts.login.streams import TooManyStreams, keep_slots, leave_slots, take_slot
from apps.accounts.login.two_factor import begin as begin_two_factor
from apps.accounts.login.two_factor import confirm as confirm_two_factor
from apps.accounts.login.two_factor import is_on as has_two_factor
from apps.accounts.login.two_factor import pending_uri, renew_recovery_codes, take_code
from apps.accounts.login.two_factor import state_of as two_factor_state_of
from apps.accounts.login.two_factor import turn_off as turn_off_two_factor
from apps.accounts.mails import MailKind
from apps.accounts.mails import is_available as can_send_mails
from apps.accounts.mails import require as require_mails
from apps.accounts.mails import tell as tell_by_mail
from apps.accounts.own_data.closing import CLOSE_JOB, CLOSE_QUEUE
from apps.accounts.own_data.closing import close as close_account
from apps.accounts.own_data.exports import find_export, request_export
from apps.accounts.own_data.retention import purge

__all__ = [
    "CLOSE_JOB",
    "CLOSE_QUEUE",
    "DEACTIVATE_JOB",
    "DEACTIVATE_QUEUE",
    "IS_COMMON_PASSWORD",
    "KEY_LIFETIME",
    "EmailTaken",
    "Entrance",
    "KeyScope",
    "MailKind",
    "NotAFailure",
    "TooManyStreams",
    "TwoFactorRequired",
    "WrongCode",
    "WrongCredentials",
    "begin_two_factor",
    "can_send_mails",
    "change_password",
    "change_profile",
    "close_account",
    "confirm_new_address",
    "confirm_two_factor",
    "count_failure",
    "create_key",
    "end_session",
    "end_when_idle",
    "end_with_old_password",
    "find_export",
    "find_link",
    "has_two_factor",
    "is_common_password",
    "is_fit_for_operators",
    "keep_slots",
    "keys_of",
    "leave_slots",
    "live_sessions",
    "log_in",
    "log_out",
    "normalize_address",
    "pending_uri",
    "prove",
    "purge",
    "record_login",
    "renew_recovery_codes",
    "request_export",
    "request_new_address",
    "request_reset",
    "require_mails",
    "require_proof_after_login",
    "reset_password",
    "revoke_key",
    "send_verification",
    "sign_up",
    "take_code",
    "take_slot",
    "tell_by_mail",
    "turn_off_two_factor",
    "two_factor_state_of",
    "verify_address",
    "with_password_warning",
]
