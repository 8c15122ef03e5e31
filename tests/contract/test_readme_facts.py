"""The READMEs are true: routes, settings, commands, dates, links and make rules exist."""

import re
from datetime import UTC, date, datetime
from typing import Final

from django.core.management import get_commands
from django.urls import URLPattern, get_resolver

from apps.engine.candles import IST
from apps.market.importers.generated_sample import samples
from tests.contract.readmes import PAGES, folder_of, section
from tests.processes import PROJECT

README: Final = PAGES["README.md"]


def date_in_india(seconds: int) -> date:
    return datetime.fromtimestamp(int(seconds) + IST, tz=UTC).date()


def documented_routes() -> list[str]:
    routes: list[str] = []
    pages = [text for text in PAGES.values() if "## Routes\n" in text]
    tables = "".join(text.split("## Routes\n")[1].split("\n## ")[0] for text in pages)
    for row in re.findall(r"^\| (`/.*?) \|", tables, re.MULTILINE):
        names = re.findall(r"`([^`]+)`", row)
        first = names[0]
        for name in names:
            if name.startswith("/"):
                routes.append(name)
            elif first.endswith(">"):
                routes.append(f"{first}/{name}")
            else:
                routes.append(f"{first.rsplit('/', 1)[0]}/{name}")
    return routes


def served_routes() -> list[str]:
    patterns = [p for p in get_resolver().url_patterns if isinstance(p, URLPattern)]
    paths = {"/" + re.sub(r"<[^>]+>", "<>", str(p.pattern)) for p in patterns}
    return sorted(paths | {"/admin/", "/app/"})


def test_the_first_page_is_short_and_shows_a_report() -> None:
    assert len(README.encode()) < 8_000
    [picture] = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert (PROJECT / picture).stat().st_size < 150_000


def test_the_glossary_of_the_map_has_fifteen_words_at_most() -> None:
    words = re.findall(r"^\| [a-z]", section("apps/README.md", "Words"), re.MULTILINE)
    assert 0 < len(words) <= 15


def test_every_route_is_documented_exactly_once() -> None:
    documented = sorted(re.sub(r"<[^>]+>", "<>", path) for path in documented_routes())
    assert documented == served_routes()


def test_exactly_the_existing_settings_are_documented() -> None:
    names = ("config/settings.py", "apps/ops/database/local_postgres.py")
    sources = [PROJECT / name for name in names]
    text = "\n".join(path.read_text() for path in sources)
    read = set(re.findall(r'(?:environ(?:\.get\(|\[)|env_[a-z]+\(\s*)"([A-Z_]+)"', text))
    rows = re.findall(
        r"^\| (`[A-Z_]+`[^|]*) \|", section("config/README.md", "Settings"), re.MULTILINE
    )
    documented = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}
    assert documented == read - {"PATH"}


def test_the_range_of_the_sample_is_the_samples_own() -> None:
    """The README's examples use these dates."""
    minutes = next(sample for sample in samples() if sample.timeframe == "1m").candles
    first, last = (f"{day:%Y-%m-%d}" for day in map(date_in_india, minutes.time[[0, -1]]))
    assert f"{first} to {last}" in README.replace("\n", " ")


def test_the_explained_candle_is_in_the_sample() -> None:
    address = re.search(
        r"/explain\?symbol=NSE:RELIANCE&at=([^\"]+)", PAGES["apps/backtests/README.md"]
    )
    assert address is not None
    minutes = next(
        sample
        for sample in samples()
        if (sample.symbol, sample.timeframe) == ("NSE:RELIANCE", "1m")
    )
    assert int(datetime.fromisoformat(address[1]).timestamp()) in minutes.candles.time


def test_every_command_exists() -> None:
    documented = set(
        re.findall(r"^\| `(\w+)", section("config/README.md", "Commands"), re.MULTILINE)
    )
    documented -= {"manage"}
    assert documented <= set(get_commands())
    used = {name for text in PAGES.values() for name in re.findall(r"manage\.py (\w+)", text)}
    assert used <= documented


def test_every_link_leads_somewhere() -> None:
    pages = {**PAGES, "CHANGELOG.md": (PROJECT / "CHANGELOG.md").read_text()}
    for page, text in pages.items():
        links = re.findall(r"\]\((?!http)([^)]+)\)", text)
        assert [link for link in links if not (folder_of(page) / link).exists()] == [], page


def test_every_make_rule_exists() -> None:
    rules = set(re.findall(r"`make (\w+)`|^make (\w+)$", "".join(PAGES.values()), re.MULTILINE))
    makefile = (PROJECT / "Makefile").read_text()
    assert {"run", "test", "demo", "check"} <= {name for pair in rules for name in pair}
    for name in filter(None, (name for pair in rules for name in pair)):
        assert re.search(rf"^{name}:", makefile, re.MULTILINE), name
