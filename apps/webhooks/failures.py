"""Why an attempt did not bring a webhook to its receiver: one table, which the docs show."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Failure(StrEnum):
    FORBIDDEN_ADDRESS = "forbidden_address"
    DNS = "dns"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TLS = "tls"
    RESET = "reset"
    BAD_ANSWER = "bad_answer"
    REDIRECT = "redirect"
    STATUS = "status"
    LOST = "lost"
    UNREADABLE_SECRET = "unreadable_secret"
    INTERNAL = "internal"


MEANINGS: Final[Mapping[Failure, str]] = {
    Failure.FORBIDDEN_ADDRESS: "The URL may not be called, or its name leads to an address that is "
    "not public.",
    Failure.DNS: "The name has no address, or no name server told it in time.",
    Failure.REFUSED: "Nothing listens there.",
    Failure.UNREACHABLE: "No way leads there.",
    Failure.TIMEOUT: "It did not take the connection within 5 seconds, or had not answered to the "
    "end after 15.",
    Failure.TLS: "Its certificate is not one for its name by an authority that is trusted, or it "
    "does not speak TLS 1.2 or later.",
    Failure.RESET: "It closed the connection without an answer, or in the middle of it.",
    Failure.BAD_ANSWER: "It answered with something else than HTTP, with half an answer, or with "
    "more than 64 KiB.",
    Failure.REDIRECT: "It answered with a 3xx, which is not followed.",
    Failure.STATUS: "It answered with another status than 2xx.",
    Failure.LOST: "Our process ended in the middle of it: it may have arrived, and is sent again.",
    Failure.UNREADABLE_SECRET: "We cannot read the secret any more; rotate it.",
    Failure.INTERNAL: "A mistake of ours.",
}
