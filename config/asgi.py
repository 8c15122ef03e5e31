"""Django behind the coroutines of apps/ops/web/application.py; uvicorn serves it."""

from config.wsgi import application as django

# isort: split
# Django is set up before what needs its settings is imported.

from django.conf import settings

from apps.backtests.evidence.services import EVIDENCE_ENDED_CHANNEL
from apps.backtests.prefer_wait import BACKTEST_ENDED_CHANNEL
from apps.ops.web.application import Application
from apps.ops.web.notifications import Notifications
from apps.trading.stream.services import CHANNELS

application = Application(
    django,
    threads=settings.WEB_THREADS,
    notifications=Notifications([BACKTEST_ENDED_CHANNEL, EVIDENCE_ENDED_CHANNEL, *CHANNELS]),
)
