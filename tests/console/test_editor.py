"""The editor: strategies built of sentences, by searching what there is."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from apps.accounts.models import User
from apps.algorithms.configuration import STEPS
from apps.algorithms.services import BUILT_IN_TEMPLATES, BuiltInTemplate
from apps.console.editing.choices import find_choices
from apps.console.editing.edits import STEPS_FORM, Edit
from apps.console.editing.steps import BLANK
from apps.console.schema_forms import FormNode, form_of
from apps.engine.language import CATALOGUE, PATTERNS, parse, read_strategy
from tests.console.conftest import Browse
from tests.console.forms import GALLERY, make_from_gallery
from tests.console.test_schema_forms import sent_by
from tests.engine.worked_examples import examples

ENTRIES = "entryConditions.conditions"
Steps = dict[str, dict[str, Any]]


def edited(steps: Mapping[str, Mapping[str, Any]], change: str, **typed: str) -> Steps:
    """Return the steps after a button is pressed in their form."""
    form = {**sent_by({name: dict(step) for name, step in steps.items()}), **typed}
    return Edit.of({**form, "change": change}).read(form)


def with_condition(condition: Mapping[str, Any]) -> Steps:
    empty: Steps = {step: {} for step in STEPS}
    return {**empty, "entryConditions": {"conditions": [dict(condition)]}}


def condition_of(steps: Steps) -> dict[str, Any]:
    [condition] = steps["entryConditions"]["conditions"]
    return dict(condition)


# Choices.


def test_the_twenty_most_used_come_first() -> None:
    assert len(find_choices(ENTRIES)) == len(find_choices(f"{ENTRIES}[0].indicator")) == 20
    assert find_choices(ENTRIES)[0].text == "price crosses above 15-minute opening range high"
    assert find_choices(f"{ENTRIES}[0].indicator")[0].text == "price"


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("opening range", "price crosses above 15-minute opening range high"),
        ("ORB", "price crosses above 15-minute opening range high"),
        ("oversold", "RSI (14) crosses above 30"),
        ("time of day", "candle starts from 09:30 to before 11:30"),
        ("hull", "price crosses above HMA (20)"),
        ("hammer", "bullish Hammer pattern (CDLHAMMER)"),
        ("tradingview", "an alert arrives"),
        ("brackets", "any of several conditions"),
        ("india vix moon", None),
    ],
)
def test_a_condition_is_found_by_name_or_use(typed: str, text: str | None) -> None:
    texts = [choice.text for choice in find_choices(ENTRIES, typed)]
    assert texts[:1] == ([text] if text else [])


def test_every_indicator_can_be_put_into_its_place() -> None:
    steps = with_condition({"type": "indicator_value", "operator": "above", "value": 1})
    path = f"{ENTRIES}[0].indicator"
    for code in (*CATALOGUE, "CALC"):
        row = CATALOGUE.get(code)
        words = row.description if row else "formula"
        texts = [choice.text for choice in find_choices(path, words)]
        chosen = (condition_of(edited(steps, f"put:{path}={text}"))["indicator"] for text in texts)
        assert any(indicator["type"] == code for indicator in chosen), code


def test_every_pattern_can_be_added() -> None:
    for code in PATTERNS:
        [choice] = find_choices(ENTRIES, f"({code})")[:1]
        added = edited({step: {} for step in STEPS}, f"add:{ENTRIES}={choice.text}")
        assert condition_of(added)["pattern"] == code


def all_first_conditions() -> Iterator[str]:
    """Yield the text of every condition that can be added."""
    yield from (choice.text for choice in find_choices(ENTRIES))
    for row in CATALOGUE.values():
        yield from (choice.text for choice in find_choices(ENTRIES, row.description))


def test_every_added_condition_is_valid_as_it_is(complete_steps: Steps) -> None:
    for text in sorted(set(all_first_conditions())):
        entry = {**complete_steps["entryConditions"], "conditions": []}
        entry["positionType"] = "long"
        steps = edited({**complete_steps, "entryConditions": entry}, f"add:{ENTRIES}={text}")
        parse(steps)


@pytest.fixture
def complete_steps() -> Steps:
    [strategy] = [row for row in BUILT_IN_TEMPLATES if row.slug == "opening-range"]
    return {name: dict(step) for name, step in strategy.steps.items()}


# Edits.


def test_enter_in_a_search_adds_its_first_match() -> None:
    empty: Steps = {step: {} for step in STEPS}
    added = edited(empty, "check", **{f"search:{ENTRIES}": "oversold"})
    assert condition_of(added)["indicator"] == {"type": "RSI", "period": 14}
    assert condition_of(added)["value"] == 30
    same = edited(empty, "check", **{f"search:{ENTRIES}": "no such thing"})
    assert same["entryConditions"] == {}


def test_a_number_becomes_an_indicator_and_a_number_again() -> None:
    rsi, average = {"type": "RSI"}, {"type": "EMA", "period": 20}
    number = {"type": "indicator_value", "indicator": rsi, "operator": "above", "value": 30}
    compared = edited(with_condition(number), f"put:{ENTRIES}[0].indicator2=EMA (20)")
    assert condition_of(compared) == {
        "type": "indicator_indicator",
        "operator": "above",
        "indicator1": rsi,
        "indicator2": average,
    }
    again = edited(compared, f"put:{ENTRIES}[0].indicator2=number")
    assert condition_of(again) == {**number, "value": 1}


def test_a_comparison_without_an_indicator_stays_so() -> None:
    condition = {"type": "indicator_value", "operator": "above", "value": 1}
    assert condition_of(edited(with_condition(condition), "check")) == condition


def test_a_movement_compares_with_nothing_else() -> None:
    pair = {"indicator1": {"type": "RSI"}, "indicator2": {"type": "PRICE"}}
    steps = with_condition({"type": "indicator_indicator", "operator": "above", **pair})
    rising = edited(steps, "choose", **{f"{ENTRIES}[0].operator": "rising"})
    moving = {"type": "indicator_value", "indicator": {"type": "RSI"}, "operator": "rising"}
    assert condition_of(rising) == moving
    above = edited(
        with_condition({**moving, "candles": 3}), "choose", **{f"{ENTRIES}[0].operator": "above"}
    )
    assert condition_of(above) == {**moving, "operator": "above"}


def test_a_source_becomes_an_operand_and_a_name_again() -> None:
    comparison = {"type": "indicator_value", "operator": "above", "value": 1}
    steps = with_condition({**comparison, "indicator": {"type": "SMA", "source": "hl2"}})
    path = f"{ENTRIES}[0].indicator.source"
    steps = edited(steps, f"choose:{path}", **{path: "an indicator"})
    assert condition_of(steps)["indicator"] == {"type": "SMA", "source": {}}
    steps = edited(steps, f"put:{path}=a calculation")
    steps = edited(steps, f"add:{path}.operands=number")
    steps = edited(steps, f"add:{path}.operands=RSI (14)")
    operands = [1, {"type": "RSI", "period": 14}]
    calculation = {"type": "CALC", "operands": operands}
    assert condition_of(steps)["indicator"]["source"] == calculation
    steps = edited(steps, f"put:{path}.operands[1]=number")
    steps = edited(steps, "check", **{f"{path}.operands[1].number": "2.5"})
    assert condition_of(steps)["indicator"]["source"]["operands"] == [1, 2.5]
    steps = edited(steps, f"put:{path}=low")
    assert condition_of(steps)["indicator"]["source"] == "low"


def test_a_group_is_filled_and_emptied() -> None:
    steps = edited({step: {} for step in STEPS}, f"add:{ENTRIES}=any of several conditions")
    inner = f"{ENTRIES}[0].conditions"
    steps = edited(steps, f"add:{inner}=any of several conditions")
    steps = edited(steps, f"remove:{inner}[0]")
    kinds = [condition["type"] for condition in condition_of(steps)["conditions"]]
    assert kinds == ["indicator_value", "group"]
    deepest = f"{ENTRIES}[0].conditions[1].conditions[0].conditions"
    assert "any of several conditions" not in [choice.text for choice in find_choices(deepest)]
    assert edited(steps, f"remove:{ENTRIES}[0]")["entryConditions"]["conditions"] == []


def test_a_chosen_trailing_stop_is_on() -> None:
    path = "exitConditions.trailingStop.type"
    steps = edited({step: {} for step in STEPS}, f"choose:{path}", **{path: "percentage"})
    assert steps["exitConditions"]["trailingStop"] == {"type": "percentage", "enabled": True}


def test_the_words_beside_the_form_begin_with_entry_and_exit(browse: Browse, alice: User) -> None:
    client = browse(alice)
    page = client.get(f"{make_from_gallery(client, 'ema-cross')}/steps").content.decode()
    words = page.partition("In words</h2>")[2]
    titles = re.findall("<h3>(.*?)</h3>", words)
    assert titles[:3] == ["Entry", "Exit", "Size"]
    assert len(titles) == 6


# Whole strategies.


def leaves_of(value: Any, path: str) -> dict[str, str]:
    """Return the fields of the form that say this value."""
    match value:
        case dict():
            parts = [(f"{path}.{name}", part) for name, part in value.items()]
        case list() if not path.endswith(("operands", "conditions", "steps")):
            return {path: ", ".join(map(str, value))}
        case list():
            parts = [(f"{path}[{index}]", part) for index, part in enumerate(value)]
        case bool():
            return {path: str(value).lower()}
        case _:
            return {path: str(value)}
    return {name: text for inner in parts for name, text in leaves_of(inner[1], inner[0]).items()}


class Editor:
    """A trader at the form of the steps, who sees its fields and has a strategy in mind."""

    def __init__(self, wanted: Mapping[str, Mapping[str, Any]]) -> None:
        inner = [leaves_of(part, step) for step, part in wanted.items()]
        self.wanted = {path: text for leaves in inner for path, text in leaves.items()}
        self.steps: Steps = {name: dict(BLANK[name]) for name in STEPS}

    def build(self) -> Steps:
        for _ in range(100):
            self.fields = self._fields()
            if not self._type_in() and not self._press_next():
                return self.steps
        raise AssertionError(self.steps)

    def _fields(self) -> dict[str, FormNode]:
        nodes = [node for step in form_of(self.steps, STEPS_FORM) for node in step.leaves()]
        for node in nodes:  # a plain number where an operand may stand
            text = self.wanted.get(node.path) if node.kind == "operand" else None
            if text is not None:
                del self.wanted[node.path]
                self.wanted |= {f"{node.path}.type": "number", f"{node.path}.number": text}
        return {node.path: node for node in nodes if not node.is_group}

    def _type_in(self) -> bool:
        """Fill in what is seen; return whether anything differed."""
        typed = {}
        for path, node in self.fields.items():
            text = self.wanted.get(path, "")
            options = [option.value for option in node.options]
            is_hidden = bool({"RSI", "indicator_value"} & set(options)) and path.endswith(".type")
            is_unfit = options and text not in ("", *options)
            if is_hidden or is_unfit or (path.endswith(".number") and not text):
                continue
            if text != ("" if node.value is None else str(node.value)):
                typed[path] = text
        if typed:
            self.steps = edited(self.steps, "check", **typed)
        return bool(typed)

    def _press_next(self) -> bool:
        """Press the button for the first part that is not seen; return whether there was one."""
        for path, text in self.wanted.items():
            if path in self.fields and self.fields[path].value == text:
                continue
            for entry in (path[: match.end()] for match in re.finditer(r"\]", path)):
                if not any(name.startswith(f"{entry}.") for name in self.fields):
                    self._add(entry.rpartition("[")[0], self.wanted.get(f"{entry}.type", ""))
                    return True
            operand, is_kind = path.removesuffix(".type"), path.endswith(".type")
            if text == "indicator_indicator":
                self._put(f"{operand}.indicator2", self.wanted[f"{operand}.indicator2.type"])
            elif is_kind and operand in self.fields:
                self.steps = edited(self.steps, f"choose:{operand}", **{operand: "an indicator"})
            elif is_kind:
                self._put(operand, text)
            else:
                continue
            return True
        return False

    def _put(self, operand: str, code: str) -> None:
        row = CATALOGUE.get(code)
        choices = find_choices(operand, row.description if row else "formula")
        texts = [choice.text for choice in choices if choice.fragment["type"] == code]
        self.steps = edited(
            self.steps, f"put:{operand}={'number' if code == 'number' else texts[0]}"
        )

    def _add(self, whole: str, kind: str) -> None:
        text = (
            CONDITION_TEXTS.get(kind, "number")
            if whole.endswith(("conditions", "operands"))
            else ""
        )
        self.steps = edited(self.steps, f"add:{whole}={text}")
        if kind == "group":  # its first conditions are others than these
            added = max(path for path in self._fields() if path.startswith(whole))
            inner = re.match(rf"{re.escape(whole)}\[\d+\]", added)
            assert inner
            for index in (1, 0):
                change = f"remove:{inner.group()}.conditions[{index}]"
                self.steps = edited(self.steps, change)


CONDITION_TEXTS = {
    "candle_pattern": "bullish Hammer pattern (CDLHAMMER)",
    "signal": "an alert arrives",
    "group": "any of several conditions",
    "indicator_indicator": "RSI (14) is above 60",
    "indicator_value": "RSI (14) is above 60",
    "time_window": "candle starts from 09:30 to before 11:30",
}


@pytest.mark.parametrize("strategy", GALLERY)
def test_a_template_is_built_from_blank(strategy: BuiltInTemplate) -> None:
    assert Editor(strategy.steps).build() == strategy.steps


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(entry["steps"], id=name)
        for name, entry in examples("strategies").items()
        if not read_strategy(entry["steps"]).problems
    ],
)
def test_every_example_of_the_language_is_built_from_blank(steps: Steps) -> None:
    assert Editor(steps).build() == steps


@pytest.mark.parametrize("strategy", GALLERY)
def test_the_page_has_every_field(browse: Browse, alice: User, strategy: BuiltInTemplate) -> None:
    client = browse(alice)
    page = client.get(f"{make_from_gallery(client, strategy.slug)}/steps").content.decode()
    names = set(re.findall(r'name="([^"]+)"', page))
    unseen = {path for path in sent_by(dict(strategy.steps)) if path not in names}
    # An indicator that is not chosen is searched; a movement has candles, a comparison a number.
    searched = {path for path in unseen if f"search:{path.removesuffix('.type')}" in names}
    unfit = {path for path in unseen if path.endswith((".candles", ".value"))}
    assert unseen == searched | unfit
