"""Errors and warnings of the steps in a trader's words.

The messages of the API name fields and values as JSON does. Beside a field of the form they have
the form's names, and a few say more plainly what to do.
"""

import re
from typing import Final

from apps.backtests.analysis import humanize
from apps.core.errors import InvalidInput

# A part of the API's message, and its replacement.
_PLAINER: Final = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (
            "is required: CALC.*",
            "Choose long, short or both: arithmetic and other symbols cannot be mirrored.",
        ),
        (
            "is required: alerts.*",
            "Choose long, short or both: alerts cannot be mirrored.",
        ),
        (r"^is required\.?$", "Required."),
        (
            r"is not? (?:a )?symbol: .* the colon is missing\.",
            "is not a symbol: choose one of the list, or write it like NSE:RELIANCE.",
        ),
        (
            r"names no indicator: write the number itself",
            "needs an indicator: numbers alone make just a number",
        ),
        (r"holds (\d+) nodes; at most (\d+) are allowed", r"has \1 parts, and at most \2 fit"),
        (r"is (\d+) deep; at most (\d+) are allowed", r"has \1 levels, and at most \2 fit"),
        (
            r"hold (\d+) conditions with those of their groups; at most (\d+) are allowed",
            r"There are \1 conditions, those of groups included; at most \2 are allowed",
        ),
        (
            "must be two numbers of one sign, the first not above the second",
            "needs two sessions from the same end of the month, such as 1, 3 or -3, -1",
        ),
        (
            "is not allowed in a source: write it at the indicator that reads the source",
            "belongs to the outer indicator: set it there",
        ),
        (
            r"is no price: (\w+) has no place on the chart",
            r"must be a price, and \1 is none: use a price, an average or a band",
        ),
        ("is the price of another symbol", "must be a price of the traded symbol"),
        (
            "has no mirror, which an algorithm of both sides needs: use an indicator, or two"
            " algorithms",
            "cannot be mirrored for short positions: use a plain indicator, or an algorithm for"
            " each side",
        ),
        (
            r"close (\S+) percent; together they must leave something: less than 100",
            r"These close \1 % of the position; partial exits close less than 100 %",
        ),
        (
            "needs at least one of stopLoss.*",
            "Set an exit: a stop loss, target, trailing stop, condition, square-off time, holding"
            " limit, opposite signal or ranking.",
        ),
        (".*risk_based needs a stop loss: .*", "Sizing by risk needs a stop loss."),
        (".*takeProfit risk_reward needs a stop.*", "A target by risk needs a stop loss."),
        (".*needed by exitConditions.steps.*", "Partial exits by risk need a stop loss."),
        (r"basicInfo\.timeframe, which is (\w+)", r"the strategy's timeframe, \1"),
        ("must be true or false", "must be Yes or No"),
        ('must be a time of the form "HH:MM"', "must be a time such as 09:30"),
    )
)
# A dotted path, or a name of several words.
_WIRE_NAME: Final = re.compile(
    r"\b(?:[a-z]\w*(?:\[\d+\])?\.)+(?P<last>[a-z]\w*)|\b[a-z]+(?:(?:[A-Z]|_[a-z])[a-z0-9]*)+\b"
)


def plain_message(message: str) -> str:
    """Return a message with the form's names, as a sentence."""
    for pattern, text in _PLAINER:
        message = pattern.sub(text, message)
    message = _WIRE_NAME.sub(lambda name: humanize(name["last"] or name[0]).lower(), message)
    return message[:1].upper() + message[1:]


def plain_path(path: str) -> str:
    """Return the names of a field and of the groups that contain it, counted from 1."""
    return ", ".join(
        f"{humanize(name).removesuffix('s')} {int(index[:-1]) + 1}" if index else humanize(name)
        for name, _, index in (part.partition("[") for part in path.split("."))
    )


def plain_refusal(refusal: InvalidInput) -> str:
    """Return the first error of a refused save, with its field."""
    fault = refusal.faults[0]
    message = plain_message(fault.message)
    return f"{plain_path(fault.field)}: {message}" if fault.field else message
