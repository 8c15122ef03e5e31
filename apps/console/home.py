"""The first page: how the algorithms do, and what needs attention."""

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.serializers import AlgorithmItemSerializer
from apps.console.gate import console_page, show
from apps.console.lists import listing


@console_page()
def home(request: HttpRequest, user: User) -> HttpResponse:
    rows = algorithms.listed(
        owner=user, status=None, strategy_type=None, ordering=("-created_at", "-pk")
    )
    return show(request, "home", {"algorithms": listing(request, rows, AlgorithmItemSerializer)})
