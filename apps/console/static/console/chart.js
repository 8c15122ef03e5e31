// Candles of a backtest or a run, the fills on them, and the levels of positions that are open.
"use strict";
(() => {
  const box = document.getElementById("chart");
  const choice = document.getElementById("chart-symbol");
  const note = document.getElementById("chart-note");
  const whole = document.getElementById("chart-whole");
  if (!box) return;
  const { createChart, createSeriesMarkers, CandlestickSeries, LineStyle } = LightweightCharts;

  /* Of more fills the markers have no text, which would cover the candles. */
  const MOST_TEXTS = 40;
  /* Candles before and after a trade that is looked for. */
  const AROUND = 75;
  const SECONDS = { "1m": 60, "5m": 300, "15m": 900, "30m": 1800, "1h": 3600, "4h": 14_400, "1d": 86_400, "1w": 604_800 };

  /* Charts know UTC alone: a time is given as the second at which UTC reads what India reads. */
  const INDIA = 19_800;
  const seconds = (text) => Date.parse(text) / 1000 + INDIA;
  const moment = (time) => new Date((time - INDIA) * 1000).toISOString();
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const price = new Intl.NumberFormat("en-IN", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

  const chart = createChart(box, {
    autoSize: true,
    layout: { attributionLogo: false }, /* its style element is not allowed; the page has the notice */
    localization: { locale: "en-IN", priceFormatter: price.format },
    timeScale: { timeVisible: true, borderVisible: false, minBarSpacing: 0.1 },
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

  /* A backtest tells the start of the bar of a fill, a run the end of it. */
  const candleOf = ({ time, endedAt }, starts) =>
    endedAt ? starts.findLast((start) => start < seconds(endedAt)) : starts.findLast((start) => start <= seconds(time));

  const markOf = (fill, starts, hasText) => {
    const time = candleOf(fill, starts);
    const isBuy = fill.side === "buy";
    return time === undefined ? [] : [{
      time,
      position: isBuy ? "belowBar" : "aboveBar",
      shape: isBuy ? "arrowUp" : "arrowDown",
      color: color(isBuy ? "accent" : "warn"),
      text: hasText ? `${fill.intent} ${fill.quantity}` : "",
    }];
  };

  const levelsOf = (position) =>
    [["entry", position.entryPrice, "muted"], ["stop", position.stopLoss, "loss"], ["target", position.takeProfit, "gain"]]
      .filter(([, level]) => level !== null)
      .map(([title, level, name]) =>
        series.createPriceLine({ price: level, title, color: color(name), lineWidth: 1, lineStyle: LineStyle.Dashed }));

  /* What is shown: the candles, and the part of time that was asked for. */
  let candles = [];
  let isOwn = true; /* whether the candles are those that conditions are read from */
  let part = {};
  let asked = "";
  let shown = "";
  let lines = [];

  const noteOf = (answer) => {
    const { symbol, timeframe, fills, trades, shownTrades } = answer;
    if (!candles.length) return `No candles of ${symbol} are held here.`;
    const count = `${candles.length.toLocaleString("en-IN")} candles of ${timeframe}${answer.synthetic ? ", generated" : ""}`;
    const drawn = trades > shownTrades ? `the fills of the ${shownTrades} largest of ${trades} trades` : `${fills.length} fills`;
    const next = isOwn ? "Click a candle to have it explained." : "Click a candle to look closer.";
    return `${symbol}: ${count}, ${drawn}. ${next}`;
  };

  const draw = async () => {
    const symbol = choice.value;
    const address = new URL(box.dataset.source, location.href);
    for (const [name, value] of Object.entries({ symbol, ...part })) address.searchParams.set(name, value);
    asked = address.search;
    const response = await fetch(address).catch(() => null); /* the network may be away */
    if (asked !== address.search) return;
    if (!response?.ok) {
      note.textContent = "The candles cannot be read just now. Load the page again.";
      return;
    }
    const answer = await response.json();
    candles = answer.candles.map(([time, open, high, low, close]) => ({ time: seconds(time), open, high, low, close }));
    isOwn = answer.timeframe === box.dataset.timeframe;
    const starts = candles.map(({ time }) => time);
    const hasText = answer.fills.length <= MOST_TEXTS;
    series.setData(candles);
    marks.setMarkers(answer.fills.flatMap((fill) => markOf(fill, starts, hasText)).sort((a, b) => a.time - b.time));
    for (const line of lines) series.removePriceLine(line);
    lines = (answer.positions ?? []).flatMap(levelsOf);
    note.textContent = noteOf(answer);
    if (whole) whole.hidden = !part.from;
    if (shown !== address.search) chart.timeScale().fitContent();
    shown = address.search;
  };

  const show = (wanted) => {
    part = wanted;
    return draw();
  };

  const explain = (time) => {
    const at = new Date(time * 1000).toISOString().slice(0, 16);
    const query = new URLSearchParams({ symbol: choice.value, at });
    document.getElementById("explained-symbol").value = choice.value;
    document.getElementById("explained-at").value = at;
    htmx.ajax("GET", `${box.dataset.explains}?${query}`, { target: "#explanation" });
  };

  const around = AROUND * SECONDS[box.dataset.timeframe];
  const showAround = (from, to) => show({ from: moment(from - around), to: moment(to + around) });

  /* A longer candle stands for several, which are shown. */
  const lookCloser = (time) => {
    const next = candles[candles.findIndex((candle) => candle.time === time) + 1];
    return showAround(time, next?.time ?? time);
  };

  paint();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    paint();
    draw();
  });
  chart.subscribeClick(({ time }) => {
    if (time === undefined) return;
    if (!isOwn) lookCloser(time);
    else if (box.dataset.explains) explain(time);
  });
  choice.addEventListener("change", () => show({}));
  whole?.addEventListener("click", () => show({}));
  document.addEventListener("click", (event) => {
    const trade = event.target.closest("[data-entry]");
    if (!trade) return;
    event.preventDefault();
    choice.value = trade.dataset.symbol;
    showAround(seconds(trade.dataset.entry), seconds(trade.dataset.exit));
    box.closest("section").scrollIntoView({ block: "start" });
  });
  document.body.addEventListener("live:bars", draw);
  document.body.addEventListener("live:change", draw);
  draw();
})();
