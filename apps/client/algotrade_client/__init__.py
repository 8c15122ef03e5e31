"""A client of the algotrade service: `Client(url, key)`, typed answers, data frames."""

from .client import Client
from .errors import AlgotradeError, ApiError
from .keys import log_in, sign_up

__all__ = ["AlgotradeError", "ApiError", "Client", "log_in", "sign_up"]
