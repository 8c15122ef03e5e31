"""Every page of the console, below /app/."""

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path

from apps.console import entry
from apps.console.gate import console_page


@console_page(public=True)
def unknown(request: HttpRequest, address: str) -> HttpResponse:
    raise Http404


urlpatterns = [
    path("sign-in", entry.sign_in_page),
    path("sign-up", entry.sign_up_page),
    path("sign-out", entry.sign_out_page),
    path("reset", entry.ask_for_reset_page),
    path("<path:address>", unknown),
]
