"""The list of backtests: rows of every kind and status."""

import pytest

from apps.accounts.models import User
from apps.backtests.models import Backtest, BacktestKind, BacktestStatus
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.console.conftest import Browse
from tests.market.bars import store_candles

PARAMETER = {"path": "exitConditions.stopLoss.percentage", "from": 1, "to": 3, "step": 1}


@pytest.mark.parametrize("kind", [BacktestKind.BACKTEST, BacktestKind.OPTIMIZATION])
def test_a_backtest_of_any_status_is_listed(
    browse: Browse, alice: User, kind: BacktestKind
) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    configs = {"optimizationConfig": {"objective": "netProfit", "parameters": [PARAMETER]}}
    is_study = kind == BacktestKind.OPTIMIZATION
    backtest = submit(alice, kind=kind, configs=configs if is_study else {}, name="Listed")
    client = browse(alice)
    for status in BacktestStatus:
        if status != BacktestStatus.COMPLETED:  # with a result: test_first_backtest
            Backtest.objects.filter(pk=backtest.pk).update(
                status=status, heartbeat_at=make.NOW if status == BacktestStatus.RUNNING else None
            )
            answer = client.get("/app/backtests")
            assert answer.status_code == 200, answer.content[:400]
            assert f'class="status {status}"' in answer.content.decode()
