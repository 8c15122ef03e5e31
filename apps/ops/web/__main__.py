"""Serve the service's ASGI application without workers.

python -m apps.ops.web
"""

import os
import sys

from django.conf import settings
from django.utils.module_loading import import_string


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    application = import_string(settings.ASGI_APPLICATION)  # this sets Django up
    from apps.ops.supervisor import Supervisor
    from apps.ops.web import server

    try:
        listener = server.listen(settings.HOST, settings.PORT)
    except OSError as error:
        sys.exit(f"error: {settings.HOST}:{settings.PORT}: {error.strerror}")
    children = server.web_children(application, listener, count=settings.WEB_WORKERS)
    Supervisor(children, say=print).run(on_poll=lambda: None)


if __name__ == "__main__":
    main()
