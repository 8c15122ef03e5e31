"""Django as a WSGI application; config/asgi.py serves it."""

import os

from django.core.wsgi import get_wsgi_application

from apps.ops import database_timeouts

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
database_timeouts.apply(database_timeouts.WEB)
