"""The OpenAPI document is valid, covers exactly the routes, and its examples work."""

import copy
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson
import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver
from drf_spectacular import validation
from rest_framework.test import APIClient

from apps.accounts import tasks as export_tasks
from apps.accounts.models import User
from apps.algorithms.configuration import STEPS
from apps.core.api import resources
from apps.core.api.resources import schema
from apps.core.errors import Code
from apps.engine.language import strategy
from apps.engine.studies import configs
from apps.engine.studies.search_errors import path_errors
from apps.ops.api_document import docs
from apps.trading.models import Run
from tests import make, openapi
from tests.accounts.authenticator import authenticator, code_of
from tests.backtests.price_series import wave_candles
from tests.backtests.workers import run_queued
from tests.conftest import client_of
from tests.market.bars import store_candles
from tests.openapi import document
from tests.symbols.instruments import equity
from tests.trading.algorithm_states import add_order, step_over
from tests.trading.algorithm_states import hold as hold_position

OPERATIONS = {
    operation["operationId"]: (method, path, operation)
    for path, item in document()["paths"].items()
    for method, operation in item.items()
}
SCHEMAS = document()["components"]["schemas"]


def test_the_document_is_valid_openapi_3_1() -> None:
    assert document()["openapi"].startswith("3.1.")
    assert _faults_of_document(document(), "openapi_3_1_schema.json") == []


def _faults_of_document(written: dict[str, Any], rules: str) -> list[str]:
    schema = orjson.loads(Path(validation.__file__).with_name(rules).read_bytes())
    return [str(fault)[:1000] for fault in jsonschema_rs.validator_for(schema).iter_errors(written)]


def test_every_reference_leads_somewhere() -> None:
    for name in set(re.findall(r"'\$ref': '#/([^']+)'", str(document()))):
        node: Any = document()
        for part in name.split("/"):
            node = node[part]


def test_every_route_and_verb_for_programs_is_documented_and_nothing_else_is() -> None:
    routes = {
        (method, "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", str(pattern.pattern)))
        for pattern in get_resolver().url_patterns
        if isinstance(pattern, URLPattern) and str(pattern.pattern).startswith(("api/", "hooks/"))
        for method in pattern.callback.actions  # type: ignore[attr-defined]  # set by DRF's as_view
        if method != "head"  # HEAD answers wherever GET does, and is known after the first call
    }
    assert routes == {(method, path) for method, path, _ in OPERATIONS.values()}


def test_no_two_operations_share_a_name() -> None:
    assert len(OPERATIONS) == sum(len(item) for item in document()["paths"].values())


def test_the_document_is_public_and_the_same_every_time() -> None:
    answers = [Client().get("/openapi.json") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json() == document()


def test_concurrent_first_readers_wait_until_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[float] = []

    def write() -> dict[str, Any]:
        written.append(time.monotonic())
        time.sleep(0.2)
        return {}

    monkeypatch.setattr(resources, "document", write)
    monkeypatch.setattr(docs, "_bytes", cache(docs._bytes.__wrapped__))  # with nothing kept yet
    with ThreadPoolExecutor(8) as readers:
        answers = readers.map(lambda _: Client().get("/openapi.json").content, range(8))
    assert set(answers) == {b"{}"}
    assert len(written) == 1


def test_the_page_is_public_and_refers_to_its_own_server_alone() -> None:
    answer = Client().get("/docs")
    assert answer.status_code == 200
    page = answer.content.decode()
    script = Client().get("/docs?script=").content.decode()
    assert "//" not in re.sub(r"^\s*//.*$", "", page + script, flags=re.MULTILINE)
    files = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(files) == 5
    for path in files:
        response = Client().get(path)
        assert response.status_code == 200
        assert b"".join(response)


def test_the_page_reads_a_shorter_document_of_the_same_calls() -> None:
    """A browser hangs over the complete document: it expands everything that a call refers to."""
    shorter = Client().get("/docs/openapi.json").json()
    assert {
        operation["operationId"]: (method, path)
        for path, item in shorter["paths"].items()
        for method, operation in item.items()
    } == {name: (method, path) for name, (method, path, _) in OPERATIONS.items()}
    assert _faults_of_document(shorter, "openapi_3_0_schema.json") == []
    schemas = shorter["components"]["schemas"]
    for name in schemas:
        assert _written_out(schemas, name, ()) < 20_000, name


def _written_out(schemas: dict[str, Any], name: str, path: tuple[str, ...]) -> int:
    """Return the length of a schema with all its references, without cycles."""
    if name in path:
        return 0
    text = orjson.dumps(schemas[name]).decode()
    inner = re.findall(r'"\$ref":"#/components/schemas/(\w+)"', text)
    return len(schemas[name]) + sum(
        _written_out(schemas, inner_name, (*path, name)) for inner_name in inner
    )


def test_every_operation_is_described() -> None:
    tags = {tag["name"] for tag in document()["tags"]}
    for name, (_, path, operation) in OPERATIONS.items():
        assert operation["summary"], name
        assert operation["description"], name
        assert operation["tags"][0] in tags, name
        assert "security" in operation, name
        parameters = filter(_is_place, operation.get("parameters", []))
        assert set(re.findall(r"{(\w+)}", path)) == {row["name"] for row in parameters}, name
        assert any(status.startswith("2") for status in operation["responses"]), name
        refusals = operation["responses"]["default"][schema.REFUSALS]
        assert {"400", "429", "500", "503"} <= set(refusals), name


def _is_place(parameter: dict[str, Any]) -> bool:
    return bool(parameter["in"] == "path")


def test_every_response_matches_its_description() -> None:
    for name, (method, path, operation) in OPERATIONS.items():
        for status in operation["responses"].keys() - {"default"}:
            answer = openapi.answer_of(path, method, status)
            judge = openapi.validator(path, method, status)
            if judge is None:
                continue
            media = answer["content"]["application/json"]
            examples = media.get("examples", {"": {"value": media.get("example")}}).values()
            faults = [str(f) for shown in examples for f in judge.iter_errors(shown["value"])]
            assert faults == [], name
        if "requestBody" in operation:
            media = operation["requestBody"]["content"]["application/json"]
            assert _faults(media["schema"], _example_of(media)) == [], name


def _example_of(media: dict[str, Any]) -> Any:
    """Return the first example of a body, or of a parameter."""
    examples = media.get("examples") or media["schema"].get("examples")
    if isinstance(examples, dict):
        return next(iter(examples.values()))["value"]
    return media["example"] if "example" in media else examples[0]


def _faults(schema: dict[str, Any], value: object) -> list[str]:
    return openapi.faults_in(value, schema)


def _fields(schema: dict[str, Any], path: str, seen: set[str]) -> Iterator[tuple[str, Any]]:
    """Yield each field of a schema with its path; fields of a component once, under the component's
    name.
    """
    if "$ref" in schema:
        path = schema["$ref"].rpartition("/")[2]
        if path in seen:
            return
        seen.add(path)
        schema = SCHEMAS[path]
    for word in ("allOf", "anyOf", "oneOf"):
        for branch in schema.get(word, ()):
            yield from _fields(branch, path, seen)
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from _fields(schema[word], f"{path}[]", seen)
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from _fields(field, f"{path}.{name}", seen)


def _fields_of_requests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each field of a body, and each parameter; annotations of its schema count as
    its own.
    """
    seen: set[str] = set()
    for name, (_, _, operation) in OPERATIONS.items():
        for parameter in operation.get("parameters", []):
            yield f"{name}?{parameter['name']}", {**parameter["schema"], **parameter}
        for media in operation.get("requestBody", {}).get("content", {}).values():
            yield from _fields(media["schema"], name, seen)


FIELDS_OF_REQUESTS = list(_fields_of_requests())


def _annotation(field: dict[str, Any], name: str) -> Any:
    """Return a field's annotation, or that of its component."""
    if name in field or "$ref" not in field:
        return field.get(name)
    return SCHEMAS[field["$ref"].rpartition("/")[2]].get(name)


def _free_objects(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the path of each object that may have any keys."""
    if isinstance(schema, list):
        for item in schema:
            yield from _free_objects(item, path)
    if not isinstance(schema, dict):
        return
    may_have_any = schema.get("additionalProperties", "properties" not in schema) in (True, {})
    if "object" in schema.get("type", ()) and may_have_any:
        yield path
    for name, field in schema.get("properties", {}).items():
        yield from _free_objects(field, (*path, name))
    for word in ("items", "additionalProperties", "allOf", "anyOf", "oneOf", "prefixItems"):
        yield from _free_objects(schema.get(word), path)


def test_only_the_free_objects_of_the_contract_have_any_keys() -> None:
    """The contract leaves the fields of two configurations and of the details of errors open."""
    free = [path for name, schema in SCHEMAS.items() for path in _free_objects(schema, (name,))]
    assert {path[-1] for path in free} == {"walkForwardConfig", "monteCarloConfig", "details"}
    assert [path for path in free if path[-1] == "details"] == [("Error", "error", "details")]


def test_no_text_speaks_of_the_code() -> None:
    texts = set(
        re.findall(r'"(?:description|summary)":"([^"]+)"', orjson.dumps(document()).decode())
    )
    assert len(texts) > 1000
    names = re.compile(r"\b(apps|services|serializers|views|models|settings)\.\w")
    assert [text for text in texts if names.search(text)] == []


def test_every_field_of_a_request_is_described() -> None:
    assert len(FIELDS_OF_REQUESTS) > 500
    assert [
        path for path, field in FIELDS_OF_REQUESTS if not _annotation(field, "description")
    ] == []


def test_the_examples_of_fields_are_valid() -> None:
    fields = [field.get("schema", field) for _, field in FIELDS_OF_REQUESTS]
    examples = [
        (field, value) for field in fields for value in _annotation(field, "examples") or ()
    ]
    assert len(examples) > 100
    assert [fault for field, value in examples for fault in _faults(field, value)] == []


def _body_fields(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields of a body, in all of its kinds."""
    if "$ref" in schema:
        yield from _body_fields(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    for kind in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _body_fields(kind)
    yield from schema.get("properties", {}).items()


def _needs_no_example(field: dict[str, Any]) -> bool:
    is_choice = "enum" in field or field.get("type") == "boolean"
    return is_choice or "examples" in field or field.get("description") == "Ignored."


@pytest.mark.parametrize(
    "name", [name for name, (_, _, operation) in OPERATIONS.items() if "requestBody" in operation]
)
def test_the_examples_of_a_body_show_each_of_its_fields(name: str) -> None:
    media = OPERATIONS[name][2]["requestBody"]["content"]["application/json"]
    shown = {field for example in media["examples"].values() for field in example["value"]}
    fields = _body_fields(media["schema"])
    assert {name for name, field in fields if not _needs_no_example(field)} <= shown


def test_the_example_of_a_refusal_is_one() -> None:
    (shown,) = SCHEMAS["Error"]["examples"]
    assert _faults(SCHEMAS["Error"], shown) == []


def test_the_envelope_lists_every_code() -> None:
    codes = SCHEMAS["Error"]["properties"]["error"]["properties"]["code"]["enum"]
    assert set(codes) == set(Code)


# The steps.


def _step(name: str, *, draft: bool) -> dict[str, Any]:
    kind = "AlgorithmDraft" if draft else "CompleteAlgorithm"
    schema: dict[str, Any] = SCHEMAS[kind]["properties"][name]
    return schema


def test_a_complete_algorithm_is_both_complete_and_a_draft() -> None:
    for name, step in make.steps().items():
        assert _faults(_step(name, draft=False), step) == []
        assert _faults(_step(name, draft=True), step) == []


STEPS_LIKE_THESE: list[tuple[str, dict[str, Any]]] = [
    ("basicInfo", {}),
    ("basicInfo", {"symbols": []}),
    ("basicInfo", {"timeframe": "2m"}),
    ("basicInfo", {"symbols": ["NSE:TCS", "NSE:TCS"]}),
    ("positionSizing", {"method": "risk_based"}),
    ("positionSizing", {"riskPercentage": 1}),
    ("positionSizing", {"riskPercentage": "1"}),
    ("positionSizing", {"shares": 1}),
    ("exitConditions", {"stopLoss": {"points": 5}}),
    ("entryConditions", {"conditions": [{"value": 5, "from": "09:30"}]}),
    ("entryConditions", {"conditions": [{"indicator1": {"period": 5}}]}),
    ("entryConditions", {"conditions": [{"indicator1": {"period": "5"}}]}),
    ("positionSizing", {"method": "risk_based", "quantity": 1}),
    ("positionSizing", {"method": "fixed_quantity", "quantity": 1.0}),
    ("positionSizing", {"method": "fixed_quantity", "quantity": 1.5}),
    ("entryConditions", {"conditions": [{}]}),
    ("entryConditions", {"conditions": [{"type": "indicator_value", "indicator": {}}]}),
    ("entryConditions", {"conditions": [{"type": "indicator_value", "indicator": []}]}),
    ("entryConditions", {"conditions": [{"type": "pattern"}]}),
    (
        "entryConditions",
        {"conditions": [{"type": "indicator_value", "indicator": {"type": "RSI", "period": "2"}}]},
    ),
    ("entryConditions", {"conditions": [{"type": "group", "conditions": []}]}),
    ("entryConditions", {"conditions": [{"conditions": [{"conditions": [{"value": "5"}]}]}]}),
    ("entryConditions", {"conditions": [{"conditions": [{"conditions": [{"value": 5}]}]}]}),
    ("exitConditions", {"conditions": [], "logicalOperator": "OR"}),
    ("exitConditions", {"conditions": [{"type": "candle_pattern", "pattern": "CDLDOGI"}]}),
    ("exitConditions", {"conditions": [{"type": "candle_pattern", "direction": "bullish"}]}),
    ("exitConditions", {"stopLoss": {"type": "percentage"}}),
    ("exitConditions", {"stopLoss": {"type": "percentage", "percentage": 0}}),
    ("exitConditions", {"stopLoss": None}),
    ("exitConditions", {"trailingStop": {"type": "atr", "enabled": 1}}),
    ("exitConditions", {"trailingStop": {"enabled": True}}),
    ("exitConditions", {"trailingStop": {"enabled": True, "points": 1}}),
    ("exitConditions", {"trailingStop": {"percentage": 1}}),
    ("riskParameters", {"maxOpenPositions": 51}),
    ("executionSettings", {"mode": "paper", "brocker": "x"}),
]


@pytest.mark.parametrize(("name", "step"), STEPS_LIKE_THESE)
def test_the_draft_of_a_step_accepts_the_values_of_the_engine(
    name: str, step: dict[str, Any]
) -> None:
    assert (_faults(_step(name, draft=True), step) == []) == (
        not strategy.read_strategy({name: step}).errors
    )


KINDS_OF_EXITS = [
    (part, kind["$ref"].rpartition("/")[2])
    for part in ("stopLoss", "takeProfit", "trailingStop")
    for kind in SCHEMAS[part[0].upper() + part[1:]]["oneOf"]
]


@pytest.mark.parametrize(("part", "kind"), KINDS_OF_EXITS)
def test_exits_require_the_fields_that_the_engine_requires(part: str, kind: str) -> None:
    fields = SCHEMAS[kind]["properties"]
    whole = {
        name: fields[name].get("const") or fields[name]["examples"][0]
        for name in SCHEMAS[kind]["required"]
    }
    if part == "trailingStop":
        whole = {**whole, "enabled": False}  # an unfinished one
    for name in whole:
        step = make.steps()["exitConditions"]
        step |= {"stopLoss": {"type": "percentage", "percentage": 3}, part: {**whole}}
        del step[part][name]
        reading = strategy.read_strategy({"exitConditions": step})
        is_complete = "exitConditions" not in reading.missing and not reading.errors
        assert is_complete == (_faults(SCHEMAS["ExitConditions"], step) == []), name


def test_the_limits_of_parameters_are_the_widest_of_all_indicators() -> None:
    """Each indicator has closer ones, which its row in the catalogue names."""
    condition = {"type": "indicator_value", "indicator": {"type": "RSI", "period": 1}}
    step = {"conditions": [condition]}
    assert _faults(_step("entryConditions", draft=True), step) == []
    assert strategy.read_strategy({"entryConditions": step}).errors
    condition["indicator"] = {"type": "RSI", "period": 0}
    assert _faults(_step("entryConditions", draft=True), step) != []


# The examples.

OF_A_RESULT = set(
    """
    readReport shareReport recallReportLink explainCandle readChart compareBacktests readEvidence
    readReceipt reproduceBacktest readReproduction simulateChanges
""".split()
)
"""What only a completed backtest has."""
OF_A_RUN = {"closePosition", "cancelOrder", "explainRun"}
"""What is about what a run holds and has ordered."""
OF_A_FACTOR = {"confirmTwoFactor", "renewRecoveryCodes", "endTwoFactor"}
"""What needs a second factor, and a code of the moment."""
BEFORE = {
    "stopAlgorithm": ["startAlgorithm"],
    "explainRun": ["startAlgorithm"],
    "pauseAlgorithm": ["startAlgorithm"],
    "resumeAlgorithm": ["startAlgorithm", "pauseAlgorithm"],
    "closePosition": ["startAlgorithm"],
    "cancelOrder": ["startAlgorithm"],
    "renameBacktest": ["cancelBacktest"],
    "deleteBacktest": ["cancelBacktest"],
}
"""What has to be done before an example can be followed."""


class Reader:
    """Follows the document's examples, with existing ids in place of those shown."""

    def __init__(self, client: APIClient, ids: dict[str, str]) -> None:
        self.client = client
        self.ids = ids
        self.code = ""

    def follow(self, name: str, example: str = "") -> Any:
        """Call the operation as in an example, by default the first; check the answer against the
        document.
        """
        method, path, operation = OPERATIONS[name]
        for part, value in self._places(operation):
            path = path.replace(f"{{{part}}}", str(value))
        response = self.client.generic(
            method.upper(),
            path,
            orjson.dumps(self._body(operation, example)),  # type: ignore[arg-type]  # bytes are taken
            content_type="application/json",
            QUERY_STRING=self._query(operation),
        )
        assert response.status_code < 300, response.content
        assert str(response.status_code) in operation["responses"]
        return response

    def _places(self, operation: dict[str, Any]) -> list[tuple[str, Any]]:
        return [
            (parameter["name"], self.ids.get(parameter["name"]) or _example_of(parameter))
            for parameter in operation.get("parameters", [])
            if _is_place(parameter)
        ]

    def _query(self, operation: dict[str, Any]) -> str:
        return "&".join(
            f"{parameter['name']}={self.ids.get(parameter['name'], parameter['example'])}"
            for parameter in operation.get("parameters", [])
            if parameter["in"] == "query" and "example" in parameter
        )

    def _body(self, operation: dict[str, Any], example: str) -> dict[str, Any]:
        empty: dict[str, Any] = {"content": {"application/json": {"schema": {}, "example": {}}}}
        media = operation.get("requestBody", empty)["content"]["application/json"]
        body = dict(media["examples"][example]["value"] if example else _example_of(media))
        if "algorithmId" in body:
            body["algorithmId"] = self.ids["algorithm_id"]
        if "code" in body and self.code:
            body["code"] = self.code
        return body


@pytest.fixture(scope="module")
def joined(kept: None) -> Reader:
    """Return a reader of the document, signed in, with a key, an algorithm, a backtest, a
    webhook and an alert hook; and an operator, because some calls are for operators only.
    """
    equity("NSE:RELIANCE")
    for symbol in ("NSE:RELIANCE", "NSE:TCS"):
        store_candles(symbol, "5m", wave_candles("2024-01-01", 45, step=300))
    reader = Reader(client_of(), {})
    issued = reader.follow("signUp").json()
    reader.client.credentials(HTTP_AUTHORIZATION=f"Bearer {issued['accessToken']}")
    User.objects.update(is_staff=True)
    reader.ids["session_id"] = reader.follow("listSessions").json()["data"][0]["id"]
    reader.ids["key_id"] = reader.follow("createKey").json()["id"]
    reader.ids["algorithm_id"] = reader.follow("createAlgorithm").json()["id"]
    reader.ids["backtest_id"] = reader.follow("submitBacktest").json()["id"]
    reader.ids["webhook_id"] = reader.follow("createWebhook").json()["id"]
    reader.ids["hook_id"] = reader.follow("createAlertHook").json()["id"]
    reader.ids["delivery_id"] = reader.follow("testWebhook").json()["id"]
    return reader


@pytest.fixture
def reader(db: None, joined: Reader) -> Reader:
    """Return a copy from before any example: calls change a client's cookies."""
    return Reader(copy.deepcopy(joined.client), dict(joined.ids))


EXAMPLES = [
    (name, example)
    for name, (_, _, operation) in OPERATIONS.items()
    for example in operation.get("requestBody", {})
    .get("content", {})
    .get("application/json", {})
    .get("examples", {"": None})
    if name != "signUp"
]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_each_example_of_an_operation_succeeds(reader: Reader, name: str, example: str) -> None:
    for earlier in BEFORE.get(name, []):
        reader.follow(earlier)
    if name == "compareBacktests":
        other = reader.follow("submitBacktest").json()["id"]
        reader.ids["ids"] = f"{reader.ids['backtest_id']},{other}"
    if name in OF_A_RESULT:
        run_queued()
    if name in OF_A_RUN:
        run = Run.objects.get()
        hold_position(run, "NSE:RELIANCE")
        reader.ids["order_id"] = add_order(run).pk
        step_over(run, "2026-06-29T05:00:00Z")
    if name in OF_A_FACTOR | {"beginTwoFactor"}:
        reader.follow("proveIdentity")
    if name in OF_A_FACTOR:
        reader.code = code_of(authenticator(reader.follow("beginTwoFactor").json()["uri"]))
    if name in OF_A_FACTOR - {"confirmTwoFactor"}:
        reader.follow("confirmTwoFactor")
    if name == "linkTelegram" or example == "QuietHoursOfAChat":
        reader.ids["webhook_id"] = reader.follow("createWebhook", "Telegram").json()["id"]
    if name == "receiveAlert":
        reader.ids["secret"] = _new_secret(
            reader, "chartink" if example == "ChartInk" else "tradingview"
        )
    _make_what_it_reads(reader, name)
    reader.follow(name, example)


def test_the_examples_of_the_rulebook_match_it(reader: Reader) -> None:
    """They omit the sources of a note's items, which are long."""
    note, rates, sessions = (
        (reader.follow(name).json(), _example_of_answer(name))
        for name in ("readCharges", "readChargeRates", "readSessions")
    )
    for answer, shown in (note, rates, sessions):
        answer["edition"] = shown["edition"]
    for charge in (*note[0]["charges"], *note[1]["charges"]):
        del charge["source"], charge["unsourced"]
    assert note[0] == note[1]
    for (answer, shown), part in ((rates, "rates"), (sessions, "segments")):
        rows, shown_rows = answer.pop(part), shown.pop(part)
        assert (answer, [row for row in shown_rows if row not in rows]) == (shown, [])


def _example_of_answer(name: str) -> Any:
    content = OPERATIONS[name][2]["responses"]["200"]["content"]
    return copy.deepcopy(_example_of(content["application/json"]))


def test_the_studies_of_the_example_of_an_algorithm_can_be_submitted() -> None:
    changes = resources.examples_of("algorithms")["AlgorithmBody"]["Example"]
    walk_forward = configs.WalkForwardConfig.read(changes["walkForwardConfig"])
    configs.MonteCarloConfig.read(changes["monteCarloConfig"])
    steps = {name: changes[name] for name in STEPS}
    assert path_errors(steps, walk_forward.parameters) == ()


def _new_secret(reader: Reader, format: str) -> str:
    """Return the secret of a new hook."""
    created = reader.client.post("/api/trading/alert-hooks", {"name": format, "format": format})
    return str(created.json()["url"]).rpartition("/")[2]


def _make_what_it_reads(reader: Reader, name: str) -> None:
    if name in ("readExport", "fetchExport"):
        reader.ids["export_id"] = reader.follow("exportData").json()["id"]
        export_tasks.export_data(export_id=reader.ids["export_id"])
    if name == "readReproduction":
        reader.ids["backtest_id"] = reader.follow("reproduceBacktest").json()["backtestId"]
    if name == "recallReportLink":
        reader.ids["link_id"] = reader.follow("shareReport").json()["id"]
