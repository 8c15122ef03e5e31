"""What time it is on the market."""

from datetime import datetime


def market_time(now: datetime) -> int:
    """Epoch seconds up to which bars can be known."""
    return int(now.timestamp())
