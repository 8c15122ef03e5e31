"""The same three calls in FastAPI and SQLAlchemy's asyncio, on the same tables.

It gets its fastest parts: uvloop and httptools, a pool of connections as large as the client's,
SQLAlchemy's Core instead of instances, answers by orjson without models, and the event loop itself
for work that never waits. It logs a line for each request, as uvicorn does. With COUNTED=1 it
counts requests against a limit in the database. POST .../validate answers as ours does; POST
.../judge omits the coverage and its queries.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import jwt
import orjson
from fastapi import Depends, FastAPI, Header, HTTPException, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import MetaData, exists, func, select, text
from sqlalchemy.ext.asyncio import create_async_engine

KEY = os.environ["SIGNING_KEY"]
ENGINE = create_async_engine(
    os.environ["DATABASE"],
    pool_size=8,
    isolation_level="AUTOCOMMIT",  # no BEGIN and ROLLBACK
)
TABLES = (
    "accounts_user",
    "accounts_loginsession",
    "algorithms_algorithm",
    "symbols_instrument",
    "market_rulesetversion",
)
SCHEMA = MetaData()
LISTED = tuple(
    """
    id name status active strategy_type timeframe symbols total_trades win_rate total_profit
    profit_factor created_at updated_at
""".split()
)
STEPS = {
    "basicInfo": "basic_info",
    "positionSizing": "position_sizing",
    "entryConditions": "entry_conditions",
    "exitConditions": "exit_conditions",
    "riskParameters": "risk_parameters",
    "executionSettings": "execution_settings",
}


@asynccontextmanager
async def reflected(_: FastAPI) -> AsyncIterator[None]:
    async with ENGINE.connect() as connection:
        await connection.run_sync(lambda inner: SCHEMA.reflect(inner, only=TABLES))
    yield
    await ENGINE.dispose()


app = FastAPI(lifespan=reflected)


COUNT = text("""
    INSERT INTO core_counter AS counted (key, count, expires_at)
    VALUES (:key, 1, now() + interval '1 minute')
    ON CONFLICT (key) DO UPDATE SET count = counted.count + 1
    RETURNING count
""")
IS_COUNTED = os.environ.get("COUNTED") == "1"
LIMIT = 1_000_000

# Our queries for the coverage of symbols, beside the rule set in force.
HAVE_DERIVATIVES = text("""
    SELECT exchange, code FROM unnest(CAST(:exchanges AS text[]), CAST(:codes AS text[]))
        AS asked (exchange, code)
    WHERE NOT EXISTS (SELECT FROM symbols_masterload
            WHERE exchange = asked.exchange AND segment = 'derivatives')
        OR EXISTS (SELECT FROM symbols_instrument
            WHERE underlying = asked.code AND exchange = asked.exchange
                AND segment = 'derivatives' AND NOT type IN ('equity', 'index'))
""")
STORED_DAYS = text("""
    SELECT symbol, timeframe, extract(epoch FROM first_time)::int8,
        extract(epoch FROM last_time)::int8, bars, period_start, days
    FROM market_candlechunk WHERE symbol = ANY(:symbols)
    UNION ALL
    SELECT symbol, timeframe, min(time), max(time), NULL, NULL, NULL
    FROM market_bufferedcandle WHERE symbol = ANY(:symbols)
    GROUP BY symbol, timeframe, (time + 19800) / 86400
""")


async def signed_in(authorization: Annotated[str, Header()]) -> str:
    """Return the user of a good token with a live session; the session is read at each call."""
    try:
        claims = jwt.decode(authorization.removeprefix("Bearer "), KEY, algorithms=["HS256"])
    except jwt.InvalidTokenError as error:
        raise HTTPException(401) from error
    session, user = SCHEMA.tables["accounts_loginsession"], SCHEMA.tables["accounts_user"]
    asked = (
        select(session, user)
        .join_from(session, user, user.c.id == session.c.user_id)
        .where(session.c.id == claims["sid"], session.c.user_id == claims["sub"])
    )
    async with ENGINE.connect() as connection:
        row = (await connection.execute(asked)).first()
    if row is None or row.ended_at or row.expires_at <= datetime.now(UTC) or not row.is_active:
        raise HTTPException(401)
    if IS_COUNTED:
        async with ENGINE.connect() as connection:
            count = await connection.scalar(COUNT, {"key": claims["sub"]})
        if count > LIMIT:
            raise HTTPException(429)
    return str(claims["sub"])


User = Annotated[str, Depends(signed_in)]


@app.get("/api/trading/algorithms")
async def listed(user: User, page: int = 1, limit: int = 20) -> Response:
    table = SCHEMA.tables["algorithms_algorithm"]
    owned = (table.c.owner_id == user) & (table.c.status != "archived")
    newest = (table.c.created_at.desc().nulls_last(), table.c.id.desc().nulls_last())
    rows = select(*(table.c[name] for name in LISTED)).where(owned).order_by(*newest)
    async with ENGINE.connect() as connection:
        total = await connection.scalar(select(func.count()).select_from(table).where(owned))
        items = await connection.execute(rows.limit(limit).offset((page - 1) * limit))
    pagination = {"page": page, "limit": limit, "total": total, "totalPages": -(-total // limit)}
    return answer({"data": [item(row) for row in items], "pagination": pagination})


@app.get("/api/trading/algorithms/{algorithm}")
async def shown(user: User, algorithm: str) -> Response:
    row = await fetch_algorithm(user, algorithm)
    return answer(
        {
            "id": row["id"],
            "userId": row["owner_id"],
            "name": row["name"],
            "description": row["description"],
            "status": row["status"],
            "active": row["active"],
            "version": row["version"],
            **{wire: row[column] for wire, column in STEPS.items()},
            "performance": row["performance"],
            "walkForwardConfig": row["walk_forward_config"],
            "walkForwardResults": row["walk_forward_results"],
            "monteCarloConfig": row["monte_carlo_config"],
            "monteCarloResults": row["monte_carlo_results"],
            "isTemplate": row["is_template"],
            "isPublic": row["is_public"],
            "clonedFrom": row["cloned_from_id"],
            "lastExecution": row["last_execution"],
            "createdAt": wire(row["created_at"]),
            "updatedAt": wire(row["updated_at"]),
        }
    )


@app.post("/api/trading/algorithms/{algorithm}/validate")
async def validated(user: User, algorithm: str) -> Response:
    strategy, answered = await judged(user, algorithm)
    coverage = await covered(strategy.basicInfo.symbols) if strategy else []
    return answer({**answered, "coverage": coverage})


@app.post("/api/trading/algorithms/{algorithm}/judge")
async def without_coverage(user: User, algorithm: str) -> Response:
    _, answered = await judged(user, algorithm)
    return answer(answered)


async def judged(user: str, algorithm: str) -> tuple[Strategy | None, dict[str, object]]:
    row = await fetch_algorithm(user, algorithm)
    try:
        strategy = Strategy.model_validate({wire: row[column] for wire, column in STEPS.items()})
    except ValidationError as error:
        errors = [
            {"field": ".".join(map(str, fault["loc"])), "message": fault["msg"]}
            for fault in error.errors()
        ]
        return None, {"missingFields": [], "errors": errors, "warnings": [], "valid": False}
    warnings = [
        {"field": "basicInfo.symbols", "message": f"{symbol} cannot be traded"}
        for symbol in await untradable(strategy.basicInfo.symbols)
    ]
    return strategy, {"missingFields": [], "errors": [], "warnings": warnings, "valid": True}


async def covered(symbols: list[str]) -> list[dict[str, object]]:
    """Return the coverage of symbols without stored history, as in this benchmark; the same queries
    are made.
    """
    versions = SCHEMA.tables["market_rulesetversion"]
    parts = [symbol.partition(":") for symbol in symbols]
    asked = {"exchanges": [exchange for exchange, _, _ in parts], "codes": [c for _, _, c in parts]}
    async with ENGINE.connect() as connection:
        await connection.scalar(select(versions.c.sha256).order_by(versions.c.id.desc()).limit(1))
        await connection.execute(HAVE_DERIVATIVES, asked)
        stored = (await connection.execute(STORED_DAYS, {"symbols": symbols})).all()
    assert not stored, "the benchmark stores no bars"
    return [
        {
            "symbol": symbol,
            "bars": 0,
            "firstBar": None,
            "lastBar": None,
            "heldSessions": 0,
            "sessions": 0,
            "percentage": None,
            "since": None,
            "sessionsSince": 0,
        }
        for symbol in symbols
    ]


async def fetch_algorithm(user: str, algorithm: str) -> Mapping[str, Any]:
    table = SCHEMA.tables["algorithms_algorithm"]
    owned = (table.c.owner_id == user) & (table.c.status != "archived")
    async with ENGINE.connect() as connection:
        result = await connection.execute(select(table).where(owned, table.c.id == algorithm))
        row: Mapping[str, Any] | None = result.mappings().first()
    if row is None:
        raise HTTPException(404)
    return row


async def untradable(symbols: list[str]) -> list[str]:
    """Return the symbols missing from a loaded master of their exchange."""
    table = SCHEMA.tables["symbols_instrument"]
    async with ENGINE.connect() as connection:
        rows = await connection.execute(select(table).where(table.c.symbol.in_(symbols)))
        enabled = {row.symbol: row.enabled for row in rows}
        exchanges = {symbol.partition(":")[0] for symbol in symbols if symbol not in enabled}
        mastered = set()
        for exchange in exchanges:
            master = exists().where(table.c.exchange == exchange, ~table.c.sample)
            if await connection.scalar(select(master)):
                mastered.add(exchange)
    return [s for s in symbols if not enabled.get(s, s.partition(":")[0] not in mastered)]


def item(row: Any) -> dict[str, object]:
    return {
        "id": row.id,
        "name": row.name,
        "status": row.status,
        "active": row.active,
        "strategyType": row.strategy_type,
        "timeframe": row.timeframe,
        "symbols": row.symbols,
        "performance": {
            "totalTrades": row.total_trades,
            "winRate": row.win_rate,
            "totalProfit": row.total_profit,
            "profitFactor": row.profit_factor,
        },
        "createdAt": wire(row.created_at),
        "updatedAt": wire(row.updated_at),
    }


def wire(moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def answer(body: object) -> Response:
    return Response(orjson.dumps(body), media_type="application/json")


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class BasicInfo(Part):
    strategyType: str
    timeframe: Literal["1m", "5m", "15m", "1h", "1d"]
    symbols: list[str] = Field(min_length=1, max_length=50)


class Sizing(Part):
    method: Literal["risk_based"]
    riskPercentage: float = Field(gt=0, le=100)


class Indicator(Part):
    type: Literal["EMA", "SMA", "RSI"]
    period: int = Field(ge=1, le=500)


class Crossing(Part):
    type: Literal["indicator_indicator"]
    operator: Literal["crosses_above", "crosses_below", "greater_than", "less_than"]
    indicator1: Indicator
    indicator2: Indicator


class Entry(Part):
    positionType: Literal["long", "short", "both"]
    conditions: list[Crossing] = Field(min_length=1, max_length=20)


class Percentage(Part):
    type: Literal["percentage"]
    percentage: float = Field(gt=0, le=100)


class RiskReward(Part):
    type: Literal["risk_reward"]
    ratio: float = Field(gt=0, le=100)


class Exit(Part):
    stopLoss: Percentage | None = None
    takeProfit: Annotated[Percentage | RiskReward, Field(discriminator="type")] | None = None


class Risk(Part):
    maxPositionSize: float = Field(gt=0)
    maxDailyLoss: float = Field(gt=0)
    maxOpenPositions: int = Field(ge=1)


class Settings(Part):
    mode: Literal["paper", "live"]
    exchange: Literal["NSE", "BSE", "MCX", "NCDEX"]
    orderType: Literal["market", "limit"]
    slippage: float = Field(default=0, ge=0)


class Strategy(Part):
    basicInfo: BasicInfo
    positionSizing: Sizing
    entryConditions: Entry
    exitConditions: Exit
    riskParameters: Risk
    executionSettings: Settings
