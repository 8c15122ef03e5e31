"""Forms made from the schemas of the steps, checked while the user types."""

import pytest

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.algorithms.services import BUILT_IN_TEMPLATES, BuiltInTemplate
from apps.console.editing.edits import STEPS_FORM
from apps.console.schema_forms import form_of, read_form
from apps.engine.language import read_strategy
from tests.console.conftest import Browse
from tests.console.forms import HOSTILE_TEXTS, make_from_gallery
from tests.engine.worked_examples import examples


def sent_by(configuration: dict[str, dict[str, object]]) -> dict[str, str]:
    """Return a browser's POST of an untouched form."""
    fields = {}
    for step in form_of(configuration, STEPS_FORM):
        for node in step.leaves():
            if not node.is_group:
                fields[node.path] = "" if node.value is None else str(node.value)
    return fields


@pytest.mark.parametrize("strategy", BUILT_IN_TEMPLATES, ids=lambda strategy: strategy.slug)
def test_a_form_gives_back_its_steps(strategy: BuiltInTemplate) -> None:
    assert read_form(sent_by(dict(strategy.steps)), STEPS_FORM) == strategy.steps


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(entry["steps"], id=name)
        for name, entry in examples("strategies").items()
        if not read_strategy(entry["steps"]).problems
    ],
)
def test_a_form_gives_back_operands_levels_and_parts(steps: dict[str, dict[str, object]]) -> None:
    assert read_form(sent_by(steps), STEPS_FORM) == steps


@pytest.mark.parametrize(
    ("name", "label"), [("conditions", "Condition 1"), ("legs", "Leg 1"), ("ladder", "Ladder 1")]
)
def test_an_entry_is_named_by_its_list(name: str, label: str) -> None:
    entry = {"oneOf": [], "discriminator": {"propertyName": "type", "mapping": {}}}
    step = {"properties": {name: {"type": "array", "items": entry}}}
    [form] = form_of({"basicInfo": {name: [{}]}}, {"basicInfo": step})
    assert form.children[0].children[0].label == label


def test_changing_the_kind_drops_the_fields_of_the_old_one() -> None:
    sizing = {"positionSizing.method": "fixed_quantity", "positionSizing.riskPercentage": "1"}
    form = {**sizing, "positionSizing.quantity": "x"}
    assert read_form(form, STEPS_FORM)["positionSizing"] == {
        "method": "fixed_quantity",
        "quantity": "x",
    }


@pytest.mark.parametrize(
    "path",
    [
        "entryConditions",
        "entryConditions.conditions[9999999999].type",
        "a[b].c",
        "entryConditions.",
        "__class__.x",
        "entryConditions.conditions.x.y[0]",
    ],
)
def test_a_forged_field_does_no_harm(path: str) -> None:
    form = {path: "x", "entryConditions.conditions[0].type": "group"}
    steps = read_form(form, STEPS_FORM, change="add:" + path)
    form_of(steps, STEPS_FORM)


def test_a_problem_appears_beside_its_field_while_typing(browse: Browse, alice: User) -> None:
    client = browse(alice)
    address = make_from_gallery(client, "ema-cross")
    algorithm = Algorithm.objects.get(pk=address.rsplit("/", 1)[1])
    form = sent_by(algorithm.configuration)
    form["entryConditions.conditions[0].indicator1.period"] = "0"
    answer = client.post(
        f"{address}/steps", {**form, "change": "typing"}, headers={"HX-Request": "true"}
    ).content.decode()
    slot = 'id="f-entryConditions-conditions-0-indicator1-period-problem" hx-swap-oob="true">'
    assert answer.split(slot)[1].strip().startswith("Must be")
    algorithm.refresh_from_db()
    assert algorithm.version == 1


def test_steps_are_saved_or_refused_with_the_input(browse: Browse, alice: User) -> None:
    client = browse(alice)
    address = make_from_gallery(client, "ema-cross")
    algorithm = Algorithm.objects.get(pk=address.rsplit("/", 1)[1])
    form = sent_by(algorithm.configuration) | {"change": "save"}
    field = "entryConditions.conditions[0].indicator1.period"
    assert client.post(f"{address}/steps", {**form, field: "12"}).status_code == 302
    algorithm.refresh_from_db()
    [condition] = algorithm.entry_conditions["conditions"]
    assert condition["indicator1"] == {"type": "EMA", "period": 12}
    refused = client.post(f"{address}/steps", {**form, field: "many"})
    assert refused.status_code == 400
    assert b'value="many"' in refused.content


def test_text_in_any_field_stays_text(browse: Browse, alice: User) -> None:
    client = browse(alice)
    address = make_from_gallery(client, "bollinger")
    algorithm = Algorithm.objects.get(pk=address.rsplit("/", 1)[1])
    fields = sent_by(algorithm.configuration)
    for text in HOSTILE_TEXTS:
        form = dict.fromkeys(fields, text)
        form |= {"entryConditions.conditions[0].type": "indicator_value", "change": "check"}
        body = client.post(f"{address}/steps", form).content.decode()
        assert text not in body or text.startswith("{{")
