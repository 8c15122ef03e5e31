"""Pages of the service run only its own scripts."""

import re
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from config import content_policy
from tests.admin.conftest import an_operator, browser_of
from tests.conftest import Api

INLINE = re.compile(
    r"<script(?![^>]*(\bsrc=|type=\"application/json\"))[^>]*>|\son\w+\s*=|\sstyle\s*=|javascript:"
)
PUBLIC = ["/docs", "/docs/webhooks", "/admin/login/"]


def rules_of(answer: Any) -> dict[str, str]:
    return dict(rule.split(" ", 1) for rule in answer[content_policy.HEADER].split("; "))


@pytest.mark.django_db
@pytest.mark.parametrize("path", PUBLIC)
def test_a_page_obeys_its_own_policy(path: str) -> None:
    answer = Client().get(path)
    assert answer.status_code == 200
    rules = rules_of(answer)
    assert (rules["default-src"], rules["script-src"]) == ("'none'", "'self'")
    assert rules["frame-ancestors"] == "'none'"
    assert "unsafe" not in answer[content_policy.HEADER]
    text = answer.content.decode()
    assert INLINE.search(text) is None
    for style in re.findall(r"<style>(.*?)</style>", text, re.DOTALL):
        assert content_policy._hash(style) in rules["style-src"]


@pytest.mark.django_db
def test_every_list_of_the_admin_keeps_the_policy() -> None:
    operator = browser_of(an_operator())
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
        answer = operator.get(reverse(name))
        assert answer.status_code == 200
        assert rules_of(answer)["script-src"] == "'self'"
        assert INLINE.search(answer.content.decode()) is None
        assert "<style" not in answer.content.decode()


def test_the_script_of_the_documentation_is_a_file(alice: User) -> None:
    page = Client().get("/docs").content.decode()
    (address,) = re.findall(r'<script src="(/docs\?[^"]*)">', page)
    script = Client().get(address)
    assert script["Content-Type"].startswith("application/javascript")
    assert "SwaggerUIBundle" in script.content.decode()


def test_only_pages_have_a_policy(api: Api, alice: User) -> None:
    for path in ("/openapi.json", "/healthz", "/api/auth/profile", "/unknown"):
        assert content_policy.HEADER not in api(alice).get(path)
