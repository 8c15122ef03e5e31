"""Which targets this installation allows beside public ones."""

from django.conf import settings

from apps.webhooks.targets import Exemptions


def configured() -> Exemptions:
    return Exemptions(networks=settings.WEBHOOK_ALLOW_CIDRS, http=settings.WEBHOOK_ALLOW_HTTP)
