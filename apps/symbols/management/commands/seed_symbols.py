from django.core.management.base import BaseCommand

from apps.symbols import services


class Command(BaseCommand):
    help = "Bring the bundled sample of symbols in; running it again changes nothing."

    def handle(self, **options: object) -> None:
        seeded = services.seed_sample()
        self.stdout.write(
            f"symbols: {seeded.added} added, {seeded.changed} changed, "
            f"{seeded.unchanged} unchanged (bundled sample)"
        )
