"""Django as a WSGI application; config/asgi.py serves it."""

import os

from django.core.wsgi import get_wsgi_application

from config import limits

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
limits.apply(limits.WEB)
