"""The service as an ASGI application; `manage.py up` serves it."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

from apps.ops.web.handler import Handler  # noqa: E402 (it needs the settings)

application = Handler()
