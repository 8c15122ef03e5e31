"""The tests of all pages include every page."""

from django.urls import resolve

from apps.console.urls import urlpatterns
from tests.console.addresses import NO_PAGES, PAGES, PUBLIC_PAGES


def test_every_route_is_a_tested_page() -> None:
    addresses = (*PAGES.values(), *PUBLIC_PAGES.values())
    visited = {resolve(address.partition("?")[0]).route for address in addresses}
    routes = {"app", *(f"app/{pattern.pattern}" for pattern in urlpatterns)}
    assert visited | NO_PAGES == routes
    assert not visited & NO_PAGES
