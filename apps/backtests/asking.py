"""What a study is asked to do, judged before it is queued."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apps.algorithms.steps import told
from apps.backtests.kinds import ASKED, Kind
from apps.core.errors import Fault, InvalidInput
from apps.engine.errors import Fault as EngineFault
from apps.engine.studies import configs as studies
from apps.engine.studies.configs import Config, InvalidStudy, MonteCarloConfig
from apps.engine.studies.grid import path_faults

Sent = Mapping[str, Mapping[str, object] | None]
"""Configurations by the name of their field; None where there is none."""


def config_of(kind: Kind, *, sent: Sent, own: Sent, steps: Mapping[str, Any]) -> Config | None:
    """The configuration of a study: the one that was sent, else the algorithm's own, else all
    defaults; None for a plain backtest. `steps` are complete. Raises InvalidInput. Any: JSON as the
    client wrote it.
    """
    wanted = ASKED.get(kind)
    stray = [name for name in sent if wanted is None or name != wanted.field]
    if stray:
        message = f"is not used by kind {kind}"
        raise InvalidInput(*(Fault(name, message, sent[name]) for name in stray))
    if wanted is None:
        return None
    is_own = wanted.field not in sent and own.get(wanted.field) is not None
    given = (own if is_own else sent).get(wanted.field)
    try:
        config = studies.parse(wanted.model, given or {})
    except InvalidStudy as refusal:
        raise _within(wanted.field, refusal.faults, is_own=is_own) from refusal
    if faults := _search_faults(config, steps):
        raise _within(wanted.field, faults, is_own=is_own)
    return config


def _search_faults(config: Config, steps: Mapping[str, Any]) -> tuple[EngineFault, ...]:
    if isinstance(config, MonteCarloConfig):
        return ()
    return path_faults(steps, config.parameters) or studies.search_faults(config)


def _within(name: str, faults: tuple[EngineFault, ...], *, is_own: bool) -> InvalidInput:
    """The faults of a configuration under its name in the body, or in the algorithm."""
    origin = " (in the algorithm, as the request has none)" if is_own else ""
    return InvalidInput(
        *(
            replace(fault, field=f"{name}.{fault.field}", message=fault.message + origin)
            for fault in map(told, faults)
        )
    )
