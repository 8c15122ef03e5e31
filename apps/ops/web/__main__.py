"""Serve the service's ASGI application.

python -m apps.ops.web
"""

import os

from django.conf import settings
from django.utils.module_loading import import_string


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    application = import_string(settings.ASGI_APPLICATION)  # this sets Django up
    from apps.ops.web.server import serve

    serve(application)


if __name__ == "__main__":
    main()
