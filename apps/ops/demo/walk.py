"""From signing up to signing out."""

from apps.ops.demo import paper, research
from apps.ops.demo.client import Client
from apps.ops.demo.listener import Listener
from apps.ops.demo.paper import Feed


def walk(client: Client, *, password: str, feed: Feed, listener: Listener) -> None:
    """The whole journey; raises JourneyFailed at the first answer that is not as it should be."""
    _sign_up(client, password)
    research.look_up_symbols(client)
    algorithm = research.describe(client)
    first, last = research.history(client)
    research.backtest(client, algorithm, first, last)
    paper.trade(client, algorithm, last, feed=feed, listener=listener)
    _sign_out(client)


def _sign_up(client: Client, password: str) -> None:
    client.say("Sign up")
    body = {"email": "trader@example.com", "password": password, "name": "A Trader"}
    client.token = client.call("POST", "/api/auth/signup", body, expect=201)["accessToken"]
    profile = client.call("GET", "/api/auth/profile")
    client.say(f"    {profile['name']} <{profile['email']}>, role {profile['role']}")


def _sign_out(client: Client) -> None:
    client.say("Sign out")
    client.call("POST", "/api/auth/logout")
    client.call("GET", "/api/auth/profile", expect=401)
