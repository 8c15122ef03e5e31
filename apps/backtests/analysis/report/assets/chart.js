// Candles with the fills of a backtest or a run on them, and the levels of open positions.
"use strict";

/* Charts know UTC alone: a time is given as the second at which UTC reads what India reads. */
const INDIA = 19_800;
const secondsOf = (moment) => Date.parse(moment) / 1000 + INDIA;
const momentOf = (seconds) => new Date((seconds - INDIA) * 1000).toISOString();
const inIndia = new Intl.DateTimeFormat("en-GB", {
  timeZone: "UTC", day: "2-digit", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
});
/* A midnight stands for a day. */
const clock = (seconds) => inIndia.format(seconds * 1000).replace(", 00:00", "");
const withDecimals = (digits, options) => {
  const form = new Intl.NumberFormat("en-IN", {
    minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay: "negative", ...options,
  });
  return (value) => form.format(value).replace("-", "−");
};
const price = withDecimals(2);

/* Returns what an address of candles answers, null while it cannot be reached. */
const fetchCandles = async (source, query) => {
  const address = new URL(source, location.href);
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  const response = await fetch(address).catch(() => null); /* the network may be away */
  if (!response?.ok) return null;
  const answer = await response.json();
  const candles = answer.candles.map(([time, open, high, low, close]) => ({ time: secondsOf(time), open, high, low, close }));
  return { ...answer, candles };
};

/* Fills the form below the chart, and has the candle explained there. */
const explainCandle = (explains, symbol, time) => {
  const at = new Date(time * 1000).toISOString().slice(0, 16);
  document.getElementById("explained-symbol").value = symbol;
  document.getElementById("explained-at").value = at;
  htmx.ajax("GET", `${explains}?${new URLSearchParams({ symbol, at })}`, { target: "#explanation" });
};

/* Draws what `load` returns: candles, fills, levels, the two ends of a trade, the part in sight and a note. */
const candleChart = (load, onCandle) => {
  const { createChart, createSeriesMarkers, CandlestickSeries, LineSeries, LineStyle } = LightweightCharts;
  const LETTER = 7; /* pixels of a letter beside a mark */
  const box = document.getElementById("chart");
  const note = document.getElementById("chart-note");
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const isQuiet = { priceLineVisible: false, lastValueVisible: false };

  const chart = createChart(box, {
    autoSize: true,
    layout: { attributionLogo: false }, /* its style element is not allowed; the page has the notice */
    localization: { locale: "en-IN", priceFormatter: price, timeFormatter: clock },
    timeScale: { timeVisible: true, borderVisible: false, minBarSpacing: 0.05, rightOffset: 2 },
    rightPriceScale: { borderVisible: false },
    /* The wheel and a vertical drag scroll the page. */
    handleScroll: { mouseWheel: false, vertTouchDrag: false },
    handleScale: { mouseWheel: false },
  });
  const series = chart.addSeries(CandlestickSeries, isQuiet);
  const path = chart.addSeries(LineSeries, { ...isQuiet, lineWidth: 2, lineStyle: LineStyle.Dashed, crosshairMarkerVisible: false });
  const marks = createSeriesMarkers(series, []);
  const scale = chart.timeScale();
  let [shown, wanted, lines, drawn] = [{ candles: [], fills: [], levels: [] }, null, [], ""];

  const indexAt = (time) => shown.candles.findLastIndex((candle) => candle.time <= time);
  const at = (time) => shown.candles[indexAt(time)]?.time;
  /* One mark for the fills of a candle and side; a text that would be cut, or cover another mark, is left out. */
  const mark = () => {
    const bySide = Map.groupBy(shown.fills.filter(({ time }) => at(time) !== undefined), ({ time, isBuy }) => `${at(time)} ${isBuy}`);
    const fills = [...bySide.values()].map((group) => ({
      time: at(group[0].time), isBuy: group[0].isBuy, tone: group[0].tone, text: group.map(({ text }) => text).join(", "),
    }));
    fills.sort((a, b) => a.time - b.time);
    const spots = fills.map(({ time }) => scale.timeToCoordinate(time));
    let right = 0;
    const markers = fills.map(({ time, isBuy, tone, text }, index) => {
      const [x, half] = [spots[index], (text.length * LETTER) / 2];
      const isAlone = spots.every((spot, other) => other === index || Math.abs(spot - x) > half);
      const fits = isAlone && x !== null && x - half >= right && x + half <= scale.width();
      if (fits) right = x + half;
      const [position, shape] = isBuy ? ["belowBar", "arrowUp"] : ["aboveBar", "arrowDown"];
      return { time, position, shape, color: color(tone), text: fits ? text : "" };
    });
    const next = JSON.stringify(markers);
    if (next !== drawn) marks.setMarkers(markers);
    drawn = next;
  };
  const paint = () => {
    const [up, down, line] = [color("gain"), color("loss"), { color: color("line") }];
    chart.applyOptions({
      layout: {
        background: { color: "transparent" }, textColor: color("muted"),
        fontFamily: getComputedStyle(document.body).fontFamily,
      },
      grid: { vertLines: line, horzLines: line },
    });
    series.applyOptions({ upColor: up, wickUpColor: up, borderUpColor: up, downColor: down, wickDownColor: down, borderDownColor: down });
    drawn = "";
    mark();
    for (const level of lines) series.removePriceLine(level);
    lines = shown.levels.map(({ title, level, tone }) =>
      series.createPriceLine({ price: level, title, color: color(tone), lineWidth: 1, lineStyle: LineStyle.Dashed }));
    const ends = (shown.ends ?? []).map(({ time, value }) => ({ time: at(time), value }));
    path.applyOptions({ color: color(shown.tone ?? "muted") });
    path.setData(ends.length && ends[0].time !== undefined && ends[0].time < ends[1].time ? ends : []);
  };

  const show = async (part) => {
    const isNew = JSON.stringify(part) !== JSON.stringify(wanted);
    wanted = part;
    const answer = await load(part);
    if (wanted !== part) return;
    if (!answer) {
      note.textContent = "No candles to show. Reload the page.";
      return;
    }
    shown = answer;
    series.setData(shown.candles);
    paint();
    note.textContent = shown.note;
    if (shown.ends) scale.setVisibleLogicalRange({ from: indexAt(shown.ends[0].time) - 40, to: indexAt(shown.ends[1].time) + 40 });
    else if (isNew) scale.fitContent();
    requestAnimationFrame(mark);
  };
  const zoom = (factor) => {
    const { from, to } = scale.getVisibleLogicalRange();
    const [middle, half] = [(from + to) / 2, Math.max(((to - from) / 2) * factor, 5)];
    scale.setVisibleLogicalRange({ from: middle - half, to: middle + half });
  };

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  scale.subscribeVisibleLogicalRangeChange(() => requestAnimationFrame(mark));
  chart.subscribeClick(({ time }) => {
    if (time !== undefined) onCandle(time, shown);
  });
  chart.subscribeCrosshairMove(({ time, seriesData }) => {
    const candle = seriesData.get(series);
    note.textContent = candle
      ? `${clock(time)}: open ${price(candle.open)}, high ${price(candle.high)}, low ${price(candle.low)}, close ${price(candle.close)}`
      : shown.note;
  });
  return { show, zoom };
};
