"""Data: stored history, symbols with their facts, the rules of a date, and files to store."""

from base64 import b64encode
from typing import Any, Final, get_args

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.console.gate import by_field, console_page, count_as, go_to, is_part, sent, show
from apps.console.lists import listing_of, read_filters, wanted_page
from apps.core import database
from apps.core.api.resources import STATUS
from apps.core.errors import Fault, Forbidden, InvalidInput, NotFound, ServiceError
from apps.core.files import MOST_UPLOADED
from apps.core.times import INDIA
from apps.engine.candles import TIMEFRAMES, Symbol
from apps.market.candles import quality_of, series_of_keys, stored_series, timeframes_of
from apps.market.rulebook import (
    DEFAULT_BROKER,
    MARKETS,
    ChargeSegment,
    broker_names,
    current_rule_set,
    describe_day,
    describe_rates,
)
from apps.market.serializers import (
    CandleFileSerializer,
    CandleUploadSerializer,
    ChargeRatesQuery,
    ChargeRatesSerializer,
    CoverageQuery,
    CoverageSerializer,
    MasterSerializer,
    MasterUploadSerializer,
    SeriesQuery,
    SeriesSerializer,
    SessionsSerializer,
)
from apps.market.services import SampleInTheWay, StampSide, upload_candles, upload_master
from apps.symbols import services as symbols
from apps.symbols.models import Source, Type
from apps.symbols.serializers import InstrumentSerializer, MatchesSerializer, SearchQuery

# The page of a symbol shows these in separate tables.
_NO_FACTS: Final = frozenset({"symbol", "name", "aliases"})
_MOST_FOUND: Final = 50


@console_page()
def coverage_page(request: HttpRequest, user: User) -> HttpResponse:
    """List the stored history of each symbol in each timeframe."""
    page = wanted_page(request)
    keys = stored_series(**read_filters(request, SeriesQuery))
    rows = series_of_keys(list(keys[page.rows]))
    data = [SeriesSerializer.render(row) for row in rows]
    context = {
        "series": listing_of(request, data, page, total=keys.count()),
        "wanted": request.GET,
        "exchanges": Symbol.EXCHANGES,
        "timeframes": TIMEFRAMES,
        "tab": "coverage",
    }
    return show(request, "data_coverage", context)


@console_page()
def symbols_page(request: HttpRequest, user: User) -> HttpResponse:
    """Search instruments by symbol, name, ISIN or a broker's name."""
    context: dict[str, Any] = {
        "wanted": request.GET,
        "exchanges": Symbol.EXCHANGES,
        "types": Type.values,
        "tab": "symbols",
    }
    if request.GET.get("query", "").strip():
        query = {**read_filters(request, SearchQuery), "limit": _MOST_FOUND}
        results = symbols.search(**query, now=database.now())
        context |= MatchesSerializer.render({"results": results})
    return show(request, "data_symbols", context)


@console_page()
def symbol_page(request: HttpRequest, user: User, symbol: str) -> HttpResponse:
    """Show the facts and the stored history of a symbol; for one timeframe its quality too."""
    query = request.GET.copy()
    query["symbol"] = symbol
    wanted = CoverageQuery.read_query(query)
    stored: dict[str, Any] = {"symbol": symbol, "timeframes": timeframes_of(symbol)}
    if "timeframe" in wanted:
        quality = quality_of(symbol, wanted["timeframe"])
        stored |= {} if quality is None else {"quality": quality}
    context: dict[str, Any] = {
        "symbol": symbol,
        "coverage": CoverageSerializer.render(stored),
        "tab": "symbols",
    }
    try:
        details = symbols.read_details(symbol=symbol, now=database.now())
    except NotFound:
        if not stored["timeframes"]:
            raise
    else:
        instrument = InstrumentSerializer.render(details)
        facts = {
            name: value
            for name, value in instrument.items()
            if name not in _NO_FACTS and value not in (None, "", [])
        }
        context |= {"instrument": instrument, "facts": facts}
    return show(request, "data_symbol", context)


@console_page()
def rules_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show the sessions of an exchange on a date, and the charges of a segment on it."""
    today = database.now().astimezone(INDIA).date().isoformat()
    defaults = {"exchange": "NSE", "segment": "equity", "date": today, "broker": DEFAULT_BROKER}
    context: dict[str, Any] = {
        "typed": {**defaults, **request.GET.dict()},
        "exchanges": MARKETS,
        "segments": get_args(ChargeSegment),
        "brokers": broker_names(current_rule_set()),
        "tab": "rules",
    }
    status = 200
    try:
        query = read_filters(request, ChargeRatesQuery, defaults)
    except InvalidInput as refusal:
        context["problems"], status = by_field(refusal.faults), 400
    else:
        day = describe_day(query["exchange"], query["day"])
        context |= {
            "sessions": SessionsSerializer.render(day),
            "charges": ChargeRatesSerializer.render(describe_rates(**query)),
        }
    return show(request, "data_rules", context, status=status)


@console_page()
def upload_page(request: HttpRequest, user: User) -> HttpResponse:
    """Check a candle file or an instrument master, and store it when it is sent again; for
    operators. htmx requests only the report, so that the form keeps the chosen file.
    """
    if not user.is_staff:
        raise Forbidden(reason="This page is for operators.")
    context: dict[str, Any] = {
        "timeframes": TIMEFRAMES,
        "sides": [side.value for side in StampSide],
        "sources": Source.choices,
        "largest": MOST_UPLOADED,
        "kind": request.POST.get("kind", ""),
        "tab": "upload",
    }
    if request.method != "POST":
        return show(request, "data_upload", context)
    is_master = context["kind"] == "master"
    count_as(request, f"/api/market/{'masters' if is_master else 'candle-files'}", user=user)
    status = 200
    try:
        uploaded = (_upload_master if is_master else _upload_candles)(request, user)
    except SampleInTheWay as refusal:
        context["refused"], status = f"{refusal.reason} Tick the box to replace it.", 409
    except ServiceError as refusal:
        context["faults"] = refusal.faults if isinstance(refusal, InvalidInput) else ()
        context["refused"], status = str(refusal), STATUS[refusal.code]
    else:
        if uploaded["stored"]:
            return go_to(request, "/app/data/upload", f"Stored: {uploaded['added']} added.")
        context["uploaded"] = uploaded
    template = "parts/upload_report" if is_part(request) else "data_upload"
    return show(request, template, context, status=status)


def _upload_candles(request: HttpRequest, user: User) -> dict[str, Any]:
    flags = {name: name in request.POST for name in ("strict", "replace", "replaceSample")}
    body = {
        **_file_of(request),
        **sent(request.POST, "symbol", "timeframe", "stamps", "prices"),
        **flags,
    }
    columns = [name.strip() for name in request.POST.get("ignoreColumns", "").split(",")]
    body["ignoreColumns"] = [name for name in columns if name]
    uploaded = upload_candles(operator=user, **CandleFileSerializer.read(body), now=database.now())
    return CandleUploadSerializer.render(uploaded)


def _upload_master(request: HttpRequest, user: User) -> dict[str, Any]:
    body = {**_file_of(request), **sent(request.POST, "source", "asOf")}
    body["force"] = "force" in request.POST
    uploaded = upload_master(operator=user, **MasterSerializer.read(body), now=database.now())
    return MasterUploadSerializer.render(uploaded)


def _file_of(request: HttpRequest) -> dict[str, Any]:
    """Return the file of a form in the API's form. Raises InvalidInput."""
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile) or not file.size:
        raise InvalidInput(Fault("file", "is missing or empty"))
    content = b64encode(file.read()).decode()
    return {"name": file.name, "content": content, **sent(request.POST, "checked")}
