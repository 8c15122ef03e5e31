// The candles of a run: its fills and the levels of its positions, again after each bar and change.
"use strict";
(() => {
  const box = document.getElementById("chart");
  const choice = document.getElementById("chart-symbol");
  if (!box) return;

  const levelsOf = (position) =>
    [["entry", position.entryPrice, "muted"], ["stop", position.stopLoss, "loss"], ["target", position.takeProfit, "gain"]]
      .filter(([, level]) => level !== null)
      .map(([title, level, tone]) => ({ title, level, tone }));
  const load = async (symbol) => {
    const answer = await fetchCandles(box.dataset.source, { symbol });
    if (!answer) return null;
    const { candles, fills, positions } = answer;
    return {
      candles,
      fills: fills.map(({ side, intent, quantity, endedAt }) => ({
        time: secondsOf(endedAt) - 1, /* a run tells the end of the bar of a fill */
        isBuy: side === "buy", tone: side === "buy" ? "accent" : "warn", text: `${intent} ${quantity}`,
      })),
      levels: positions.flatMap(levelsOf),
      note: candles.length ? "Click a candle to explain it." : `No candles of ${symbol} yet.`,
    };
  };
  const chart = candleChart(load, (time) => explainCandle(box.dataset.explains, choice.value, time));
  const draw = () => chart.show(choice.value);
  choice.addEventListener("change", draw);
  document.body.addEventListener("live:bars", draw);
  document.body.addEventListener("live:change", draw);
  draw();
})();
