"""Texts that a trader types into forms, and the form that makes an algorithm."""

import pytest
from django.test import Client

from apps.algorithms.services import BUILT_IN_TEMPLATES

GALLERY = [
    pytest.param(strategy, id=strategy.slug, marks=[] if number % 6 == 0 else [pytest.mark.slow])
    for number, strategy in enumerate(BUILT_IN_TEMPLATES)
]
"""Every strategy of the gallery, the sixths in the quick tests."""

# Texts that a page must show as they are, wherever a trader types them.
HOSTILE_TEXTS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onfocus='alert(1)' autofocus='",
    "</textarea><svg/onload=alert(1)>",
    "{{ 7|add:7 }}{% now 'Y' %}",
]


def make_from_gallery(client: Client, slug: str) -> str:
    """Make an algorithm from a strategy of the gallery; return the address of its page."""
    return str(client.post("/app/gallery", {"strategy": slug})["Location"])
