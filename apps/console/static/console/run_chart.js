// The candles that an algorithm has seen, its fills on them, and the levels of its positions.
"use strict";
(() => {
  const box = document.getElementById("chart");
  const choice = document.getElementById("chart-symbol");
  const note = document.getElementById("chart-note");
  if (!box) return;
  const { createChart, createSeriesMarkers, CandlestickSeries, LineStyle } = LightweightCharts;

  /* Charts know UTC alone: a time is given as the second at which UTC reads what India reads. */
  const seconds = (text) => Date.parse(text) / 1000 + 19_800;
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  const chart = createChart(box, {
    autoSize: true,
    layout: { attributionLogo: false }, /* its style element is not allowed; the page has the notice */
    timeScale: { timeVisible: true, borderVisible: false },
    rightPriceScale: { borderVisible: false },
    handleScroll: { mouseWheel: false, vertTouchDrag: false },
    handleScale: { mouseWheel: false },
  });
  const series = chart.addSeries(CandlestickSeries, { priceLineVisible: false });
  const marks = createSeriesMarkers(series, []);
  const paint = () => {
    const [up, down] = [color("gain"), color("loss")];
    const grid = { color: color("line") };
    chart.applyOptions({
      layout: {
        background: { color: "transparent" }, textColor: color("muted"),
        fontFamily: getComputedStyle(document.body).fontFamily,
      },
      grid: { vertLines: grid, horzLines: grid },
    });
    series.applyOptions({ upColor: up, wickUpColor: up, borderUpColor: up, downColor: down, wickDownColor: down, borderDownColor: down });
  };

  /* The start of the candle that a moment lies in. */
  const candleOf = (starts, time) => starts.findLast((start) => start < time);

  const mark = (fill, starts) => {
    const time = candleOf(starts, seconds(fill.endedAt));
    const isBuy = fill.side === "buy";
    return time === undefined ? [] : [{
      time,
      position: isBuy ? "belowBar" : "aboveBar",
      shape: isBuy ? "arrowUp" : "arrowDown",
      color: color(isBuy ? "accent" : "warn"),
      text: `${fill.intent} ${fill.quantity}`,
    }];
  };

  let shown = "";
  let lines = [];
  const draw = async () => {
    const symbol = choice.value;
    const response = await fetch(`${box.dataset.source}?symbol=${encodeURIComponent(symbol)}`);
    if (!response.ok || symbol !== choice.value) return;
    const answer = await response.json();
    const candles = answer.candles.map(([time, open, high, low, close]) => ({ time: seconds(time), open, high, low, close }));
    const starts = candles.map(({ time }) => time);
    series.setData(candles);
    marks.setMarkers(answer.fills.flatMap((fill) => mark(fill, starts)).sort((a, b) => a.time - b.time));
    for (const line of lines) series.removePriceLine(line);
    lines = answer.positions.flatMap((position) =>
      [["entry", position.entryPrice, "muted"], ["stop", position.stopLoss, "loss"], ["target", position.takeProfit, "gain"]]
        .filter(([, price]) => price !== null)
        .map(([title, price, name]) =>
          series.createPriceLine({ price, title, color: color(name), lineWidth: 1, lineStyle: LineStyle.Dashed })),
    );
    note.textContent = candles.length
      ? `${symbol}, ${candles.length} candles${answer.synthetic ? ", generated" : ""}, ${answer.fills.length} fills. Click a candle to have it explained.`
      : `No candles of ${symbol} were seen yet.`;
    if (shown !== symbol) chart.timeScale().fitContent();
    shown = symbol;
  };

  paint();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    paint();
    draw();
  });
  chart.subscribeClick(({ time }) => {
    if (time === undefined) return;
    const at = new Date(time * 1000).toISOString().slice(0, 16);
    const query = new URLSearchParams({ symbol: choice.value, at });
    document.getElementById("explained-symbol").value = choice.value;
    document.getElementById("explained-at").value = at;
    htmx.ajax("GET", `${box.dataset.explains}?${query}`, { target: "#explanation" });
  });
  choice.addEventListener("change", draw);
  document.body.addEventListener("live:bars", draw);
  document.body.addEventListener("live:change", draw);
  draw();
})();
