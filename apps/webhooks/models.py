"""Events of users' algorithms, the endpoints that subscribe to them, and their deliveries."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import F, Func, Q

from apps.core.database import IdField, StatusQuerySet, is_id
from apps.core.errors import NotFound
from apps.webhooks.event_types import EventType
from apps.webhooks.lifecycle import (
    DELIVERY_TRANSITIONS,
    ENDPOINT_TRANSITIONS,
    DeliveryQueue,
    DeliveryStatus,
    DeliveryTransition,
    DigestMode,
    DisabledReason,
    EndpointKind,
    EndpointStatus,
    LinkProblem,
)

MAX_URL_LENGTH = 2048
MAX_DESCRIPTION = 200
# A bot sends 30 messages a second at most, and one a second to a chat.
BOT_SLOTS = range(1, 31)
_TYPES = [type.value for type in EventType]


class Sequence(models.Model):
    """The number of events of an algorithm so far, deleted ones included."""

    algorithm_id = models.CharField(max_length=24, primary_key=True)
    last = models.PositiveBigIntegerField()

    def __str__(self) -> str:
        return f"{self.last} events of algorithm {self.algorithm_id}"


class Event(models.Model):
    """An event, committed with the change that it reports.

    It names its subject by id and not by foreign key, because the subject may have been deleted.
    """

    id = IdField()
    type = models.CharField(max_length=40, choices=[(t.value, t.value) for t in EventType])
    owner = models.ForeignKey("accounts.User", models.CASCADE, related_name="+")
    algorithm_id = models.CharField(
        max_length=24, help_text="Id of the algorithm; for a test event, of the endpoint"
    )
    backtest_id = models.CharField(
        max_length=24, blank=True, help_text="Id of the backtest, if the event is about one"
    )
    sequence = models.PositiveBigIntegerField(
        help_text="Number of the event among those of the algorithm, from 1"
    )
    created_at = models.DateTimeField()
    data = models.JSONField()
    position = models.PositiveBigIntegerField(
        null=True,
        help_text="Number of the event among those of its owner, from 1, in the order of their"
        " commits; null until somebody reads them",
    )

    class Meta:
        indexes = [
            models.Index(
                fields=["owner"], name="events_to_number", condition=Q(position__isnull=True)
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "position"], name="an_event_has_a_position_of_its_own"
            ),
            models.UniqueConstraint(
                fields=["algorithm_id", "sequence"], name="one_event_in_each_place"
            ),
            models.CheckConstraint(condition=Q(type__in=_TYPES), name="event_type_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.algorithm_id} {self.sequence}"


class EventCounter(models.Model):
    """The last position given to an event of a user. Its row is the lock for giving more."""

    owner = models.OneToOneField("accounts.User", models.CASCADE, primary_key=True)
    last = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"position {self.last} of user {self.owner_id}"


class EndpointQuerySet(StatusQuerySet["Endpoint"]):
    """Queries for endpoints, and the only way to change their status."""

    transitions = ENDPOINT_TRANSITIONS

    def owned_by(self, owner: models.Model) -> Self:
        """Return the owner's endpoints without deleted ones."""
        visible = self.exclude(status=EndpointStatus.DELETED).filter(owner_id=owner.pk)
        return visible.select_related("link")

    def locked(self) -> Self:
        """Lock the rows against changes until the transaction ends; others may refer to them."""
        return self.select_for_update(no_key=True, of=("self",))

    def fetch(self, endpoint_id: str) -> "Endpoint":
        """Return the endpoint with this id. Raises NotFound."""
        endpoint = self.filter(pk=endpoint_id).first() if is_id(endpoint_id) else None
        if endpoint is None:
            raise NotFound
        return endpoint


class Endpoint(models.Model):
    """A receiver that a user subscribes to events, and its health.

    `secret` is encrypted: of a webhook it signs, of a chat it is the address with its token, and
    `url` then only names the receiver. The previous secret, encrypted too, also signs until
    `previous_until`. `bot` and `chat` are fingerprints of a Telegram endpoint's token and chat.
    The endpoint is `slow` when its last answer took long; `failing_since` is the first failure
    after its last success.
    """

    id = IdField()
    owner = models.ForeignKey("accounts.User", models.CASCADE, related_name="endpoints")
    kind = models.CharField(
        max_length=8,
        default=EndpointKind.WEBHOOK.value,
        db_default=EndpointKind.WEBHOOK.value,
        choices=[(kind.value, kind.value) for kind in EndpointKind],
    )
    url = models.CharField(max_length=MAX_URL_LENGTH)
    events = models.JSONField(help_text="Types of the events that it receives")
    description = models.CharField(max_length=MAX_DESCRIPTION, blank=True)
    status = models.CharField(
        max_length=8,
        default=EndpointStatus.ENABLED.value,
        choices=[(s.value, s.value) for s in EndpointStatus],
    )
    disabled_reason = models.CharField(
        max_length=8, blank=True, choices=[(r.value, r.value) for r in DisabledReason]
    )
    secret = models.BinaryField()
    previous_secret = models.BinaryField(null=True)
    previous_until = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(
        default=0, help_text="Failed attempts since the last success"
    )
    slow = models.BooleanField(default=False)
    served_at = models.DateTimeField(null=True, help_text="When a delivery to it was last claimed")
    ready_at = models.DateTimeField(null=True, help_text="When a chat takes the next message")
    quiet_from = models.TimeField(null=True, help_text="Start of a chat's quiet hours, in India")
    quiet_until = models.TimeField(null=True)
    digest = models.CharField(
        max_length=6,
        default=DigestMode.OFF.value,
        db_default=DigestMode.OFF.value,
        choices=[(digest.value, digest.value) for digest in DigestMode],
    )
    bot = models.CharField(max_length=32, default="", db_default="", blank=True)
    bot_slot = models.PositiveSmallIntegerField(null=True)
    chat = models.CharField(max_length=32, default="", db_default="", blank=True)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField(
        help_text="When its owner or a change of its status last updated it"
    )

    objects = EndpointQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in EndpointStatus]),
                name="endpoint_status_is_known",
            ),
            models.CheckConstraint(
                condition=Q(status=EndpointStatus.DISABLED.value)
                & Q(disabled_reason__in=[reason.value for reason in DisabledReason])
                | ~Q(status=EndpointStatus.DISABLED.value) & Q(disabled_reason=""),
                name="a_disabled_endpoint_says_why",
            ),
            models.CheckConstraint(
                condition=Q(events__contained_by=_TYPES) & ~Q(events=[]),
                name="an_endpoint_wants_known_events",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=[kind.value for kind in EndpointKind]),
                name="endpoint_kind_is_known",
            ),
            models.CheckConstraint(
                condition=Q(kind=EndpointKind.WEBHOOK.value, digest=DigestMode.OFF.value)
                & Q(quiet_from=None, quiet_until=None)
                | ~Q(kind=EndpointKind.WEBHOOK.value)
                & Q(digest__in=[digest.value for digest in DigestMode]),
                name="only_a_chat_waits",
            ),
            models.CheckConstraint(
                condition=Q(quiet_from=None, quiet_until=None)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False)
                & ~Q(quiet_from=F("quiet_until")),
                name="quiet_hours_begin_and_end",
            ),
            models.CheckConstraint(
                condition=~Q(
                    kind=EndpointKind.TELEGRAM.value, status=EndpointStatus.ENABLED.value, chat=""
                ),
                name="an_enabled_telegram_endpoint_has_a_chat",
            ),
            models.CheckConstraint(
                condition=Q(bot="", chat="", bot_slot=None)
                | ~Q(bot="")
                & ~Q(chat="")
                & Q(bot_slot__gte=BOT_SLOTS.start, bot_slot__lt=BOT_SLOTS.stop),
                name="a_linked_chat_has_a_slot_of_its_bot",
            ),
            models.UniqueConstraint(
                fields=["bot", "bot_slot"],
                condition=~Q(bot=""),
                name="a_slot_of_a_bot_is_taken_once",
            ),
            models.UniqueConstraint(
                fields=["chat"], condition=~Q(chat=""), name="one_endpoint_of_a_chat"
            ),
        ]

    @property
    def quiet_hours(self) -> dict[str, str] | None:
        """The quiet hours of a chat as its owner wrote them."""
        if self.quiet_from is None or self.quiet_until is None:
            return None
        return {"from": f"{self.quiet_from:%H:%M}", "until": f"{self.quiet_until:%H:%M}"}

    @property
    def pending_link(self) -> "TelegramLink | None":
        """The code that links a chat; None unless one was made and not used."""
        return getattr(self, "link", None)

    def secrets(self, *, now: datetime) -> tuple[bytes, ...]:
        """Return the encrypted secrets that sign now, the newest first."""
        rotating = self.previous_until is not None and now < self.previous_until
        encrypted = [self.secret, self.previous_secret] if rotating else [self.secret]
        return tuple(bytes(secret) for secret in encrypted if secret is not None)

    def __str__(self) -> str:
        return f"{self.url} ({self.pk})"


class TelegramLinkQuerySet(models.QuerySet["TelegramLink"]):
    def pending(self, *, now: datetime) -> Self:
        return self.filter(expires_at__gt=now).exclude(endpoint__status=EndpointStatus.DELETED)


class TelegramLink(models.Model):
    """A code that a user sends to the bot, so that its chat is known; it is deleted once used."""

    endpoint = models.OneToOneField(Endpoint, models.CASCADE, primary_key=True, related_name="link")
    code = models.CharField(max_length=8, unique=True)
    expires_at = models.DateTimeField()
    asked_at = models.DateTimeField(null=True, help_text="When the Bot API was last asked")
    offset = models.BigIntegerField(default=0, help_text="The next update of the bot")
    problem = models.CharField(
        max_length=11, blank=True, choices=[(p.value, p.value) for p in LinkProblem]
    )

    objects = TelegramLinkQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(problem__in=["", *(p.value for p in LinkProblem)]),
                name="link_problem_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"Link of {self.endpoint_id}"


class DeliveryQuerySet(StatusQuerySet["Delivery"]):
    """Queries for deliveries, and the only way to change their status."""

    transitions = DELIVERY_TRANSITIONS

    def owned_by(self, owner: models.Model) -> Self:
        return self.filter(endpoint__owner_id=owner.pk).exclude(
            endpoint__status=EndpointStatus.DELETED
        )

    def claim(self, *, until: datetime) -> int:
        """Claim for this database connection, until that time at most; the claim also ends with the
        process.
        """
        return self.transition(
            DeliveryTransition.CLAIM,
            attempts=F("attempts") + 1,
            claimed_until=until,
            claimed_by=Func(function="pg_backend_pid", output_field=models.IntegerField()),
        )

    def release(self, transition: DeliveryTransition, **changes: object) -> int:
        """End a claim by this transition."""
        return self.transition(transition, claimed_until=None, claimed_by=None, **changes)

    def fetch(self, delivery_id: str) -> "Delivery":
        """Return the delivery with this id. Raises NotFound."""
        delivery = self.filter(pk=delivery_id).first() if is_id(delivery_id) else None
        if delivery is None:
            raise NotFound
        return delivery


class Delivery(models.Model):
    """An event on its way to an endpoint.

    `attempts` counts the claims. A sender records its result under the number of its claim, so a
    sender whose claim expired changes nothing. `failures` counts the failed attempts since it was
    queued, and determines the next wait. A claim ends at `claimed_until`, or with the database
    connection `claimed_by` (a process id of the server).
    """

    id = IdField()
    event = models.ForeignKey(Event, models.CASCADE, related_name="deliveries", db_index=False)
    endpoint = models.ForeignKey(
        Endpoint, models.CASCADE, related_name="deliveries", db_index=False
    )
    status = models.CharField(max_length=9, choices=[(s.value, s.value) for s in DeliveryStatus])
    queue = models.CharField(
        max_length=7, choices=[(queue.value, queue.value) for queue in DeliveryQueue]
    )
    due_at = models.DateTimeField()
    claimed_until = models.DateTimeField(null=True)
    claimed_by = models.IntegerField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    failures = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["event", "endpoint"], name="an_event_goes_to_an_endpoint_once"
            ),
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in DeliveryStatus]),
                name="delivery_status_is_known",
            ),
            models.CheckConstraint(
                condition=Q(status=DeliveryStatus.SENDING.value)
                & Q(claimed_until__isnull=False, claimed_by__isnull=False)
                | ~Q(status=DeliveryStatus.SENDING.value) & Q(claimed_until=None, claimed_by=None),
                name="what_is_being_sent_is_claimed",
            ),
        ]
        indexes = [
            models.Index(
                F("endpoint"), F("created_at").desc(), F("id").desc(), name="deliveries_newest"
            ),
            models.Index(
                fields=["queue", "endpoint", "due_at"],
                name="deliveries_waiting",
                condition=Q(status=DeliveryStatus.WAITING.value),
            ),
            models.Index(
                fields=["endpoint"],
                name="deliveries_sending",
                condition=Q(status=DeliveryStatus.SENDING.value),
            ),
        ]

    @property
    def next_attempt_at(self) -> datetime | None:
        return self.due_at if self.status == DeliveryStatus.WAITING else None

    def __str__(self) -> str:
        return f"{self.event_id} to {self.endpoint_id}"


class Attempt(models.Model):
    """The result of an attempt. Of the receiver's answer only the status is kept."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="tries", db_index=False)
    number = models.PositiveIntegerField()
    at = models.DateTimeField()
    seconds = models.FloatField(null=True)
    http_status = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=40, blank=True, help_text="Name of the error's class")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["delivery", "number"], name="an_attempt_has_its_number_once"
            ),
        ]

    @property
    def milliseconds(self) -> int | None:
        return None if self.seconds is None else round(1000 * self.seconds)

    def __str__(self) -> str:
        return f"Attempt {self.number} of {self.delivery_id}"


class EmailNotices(models.Model):
    """The types of events that a user receives by e-mail."""

    owner = models.OneToOneField("accounts.User", models.CASCADE, primary_key=True)
    events = models.JSONField(default=list)

    class Meta:
        verbose_name_plural = "e-mail notices"
        constraints = [
            models.CheckConstraint(
                condition=Q(events__contained_by=_TYPES), name="notices_are_of_known_events"
            ),
        ]
