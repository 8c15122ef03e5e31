// The page of a result: values of the equity curve, the list of trades, and their candles.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const read = (id) => JSON.parse(byId(id)?.textContent ?? "null");
  const [trades, stored] = [read("trade-data"), read("candle-data")];
  const { source, explains } = byId("result").dataset;
  const rupees = withDecimals(2, { style: "currency", currency: "INR" });
  const percent = (value) => `${price(value)}%`;
  const shortest = withDecimals(0, { maximumFractionDigits: 4 });

  /* The strips of the drawing have the values as titles; this shows them at once. */
  const equityNote = byId("equity-note");
  const equityText = equityNote?.textContent;
  for (const strip of document.querySelectorAll(".strip")) {
    strip.addEventListener("pointerenter", () => { equityNote.textContent = strip.textContent; });
    strip.addEventListener("pointerleave", () => { equityNote.textContent = equityText; });
  }


  /* Columns of times and of closes have a first value and then the differences (charts.py). */
  const summed = (differences) => {
    let sum = 0;
    return differences.map((difference) => (sum += difference));
  };
  const seconds = (minutes) => minutes * 60 + INDIA;
  trades.number = summed(trades.number);
  trades.entry = summed(trades.entry).map(seconds);
  trades.exit = trades.entry.map((entry, row) => entry + trades.held[row] * 60);
  const rows = [...trades.number.keys()];
  const candlesOf = ({ decimals, time, open, high, low, close }) => {
    const [times, closes, unit] = [summed(time).map(seconds), summed(close), 10 ** decimals];
    return times.map((moment, i) => ({
      time: moment,
      open: (closes[i] + open[i]) / unit,
      high: (closes[i] + high[i]) / unit,
      low: (closes[i] - low[i]) / unit,
      close: closes[i] / unit,
    }));
  };
  const side = (row) => (trades.side[row] > 0 ? "Long" : "Short");
  const tone = (value) => (value > 0 ? "gain" : value < 0 ? "loss" : "");
  const reason = (row) => trades.reasons[trades.reason[row]];


  const MOST_TRADES = 150; /* on the chart; of more, those with the largest results */
  const picker = byId("chart-symbol");
  const own = byId("chart").dataset;
  let chosen = null;
  const loadCandles = async ({ symbol, from, to, row }) => {
    const name = trades.symbols[symbol];
    const kept = stored?.find((price) => price.symbol === symbol);
    const part = from ? { from: momentOf(from), to: momentOf(to) } : {};
    const answer = source
      ? await fetchCandles(source, { symbol: name, ...part })
      : { timeframe: kept?.timeframe, candles: kept ? candlesOf(kept) : [] };
    if (!answer) return null;
    const { candles, timeframe } = answer;
    const [first, last] = [candles[0]?.time, candles.at(-1)?.time];
    const inSight = rows.filter((i) => trades.symbol[i] === symbol && trades.exit[i] >= first && trades.entry[i] <= last)
      .sort((a, b) => Math.abs(trades.profit[b]) - Math.abs(trades.profit[a]));
    const drawn = inSight.slice(0, MOST_TRADES);
    const isOwn = timeframe === own.timeframe;
    const notes = [];
    if (row !== undefined) {
      const [entry, exit] = [trades.entryPrice[row], trades.exitPrice[row]].map(price);
      notes.push(`Trade ${trades.number[row]}: ${side(row).toLowerCase()} ${shortest(trades.quantity[row])} at ${entry}, out at ${exit}, ${reason(row).toLowerCase()}, ${rupees(trades.profit[row])}.`);
    }
    if (!candles.length) notes.push(`No candles of ${name} are stored.`);
    else if (!isOwn) notes.push(`Drawn as ${timeframe} candles.`);
    if (drawn.length < inSight.length) notes.push(`The ${MOST_TRADES} largest of ${shortest(inSight.length)} trades are marked.`);
    if (explains && candles.length) notes.push(isOwn ? "Click a candle to explain it." : "Click a candle to zoom in.");
    return {
      candles, isOwn, levels: [],
      fills: drawn.flatMap((i) => [
        { time: trades.entry[i], isBuy: trades.side[i] > 0, tone: trades.side[i] > 0 ? "accent" : "warn", text: `${side(i)} ${shortest(trades.quantity[i])}` },
        { time: trades.exit[i], isBuy: trades.side[i] < 0, tone: tone(trades.profit[i]) || "muted", text: rupees(trades.profit[i]) },
      ]),
      ends: row === undefined ? undefined
        : [{ time: trades.entry[row], value: trades.entryPrice[row] }, { time: trades.exit[row], value: trades.exitPrice[row] }],
      tone: tone(trades.profit[row]) || "muted",
      note: notes.join(" "),
    };
  };
  const symbol = () => Number(picker.value);
  const AROUND = 300 * Number(own.seconds); /* nights and weekends have no candles */
  const chart = candleChart(loadCandles, (time, { candles, isOwn }) => {
    if (!explains) return;
    if (isOwn) return explainCandle(explains, trades.symbols[symbol()], time);
    const next = candles[candles.findIndex((candle) => candle.time === time) + 1];
    chart.show({ symbol: symbol(), from: time - AROUND / 10, to: (next?.time ?? time) + AROUND / 10 });
  });
  const showWhole = () => {
    chosen = null;
    return chart.show({ symbol: symbol() });
  };
  const showTrade = (row) => {
    chosen = row;
    picker.value = trades.symbol[row];
    byId("previous-trade").disabled = row === 0;
    byId("next-trade").disabled = row === rows.length - 1;
    return chart.show({ symbol: symbol(), row, from: trades.entry[row] - AROUND, to: trades.exit[row] + AROUND });
  };
  picker.addEventListener("change", () => {
    const row = rows.findLast((i) => trades.symbol[i] === symbol());
    return row === undefined ? showWhole() : showTrade(row);
  });
  byId("whole").addEventListener("click", showWhole);
  byId("zoom-in").addEventListener("click", () => chart.zoom(0.5));
  byId("zoom-out").addEventListener("click", () => chart.zoom(2));
  byId("previous-trade").addEventListener("click", () => showTrade(Math.max((chosen ?? rows.length) - 1, 0)));
  byId("next-trade").addEventListener("click", () => showTrade(Math.min((chosen ?? -1) + 1, rows.length - 1)));
  byId("chart-tools").hidden = false;
  /* What stands in the page is shown first, then what has to be drawn. */
  requestAnimationFrame(() => setTimeout(() => (rows.length ? showTrade(rows.length - 1) : showWhole())));


  const table = byId("trade-list");
  if (!table) return;
  const known = (format) => (value) => (value === null ? "–" : format(value));
  const text = (value) => value;
  const columns = {
    number: [trades.number, text],
    symbol: [trades.symbol.map((index) => trades.symbols[index]), text],
    side: [rows.map(side), text],
    quantity: [trades.quantity, shortest],
    entry: [trades.entry, clock],
    entryPrice: [trades.entryPrice, price],
    exit: [trades.exit, clock],
    exitPrice: [trades.exitPrice, price],
    reason: [rows.map(reason), text],
    profit: [trades.profit, rupees, tone],
    return: [trades.return, percent, tone],
    mae: [trades.mae, known(percent)],
    mfe: [trades.mfe, known(percent)],
    bars: [trades.bars, shortest],
    charges: [trades.charges, rupees],
  };
  const make = (tag, content, properties) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(content);
    return element;
  };
  const [head, body] = [table.tHead.rows[0], table.tBodies[0]];
  const names = [...head.cells].map((header) => header.dataset.column);
  const rowOf = (row) => {
    const line = document.createElement("tr");
    for (const name of names) {
      const [values, format, toneOf] = columns[name];
      const content = format(values[row]);
      if (name !== "number") line.append(make("td", content, { className: toneOf ? toneOf(values[row]) : name }));
      else {
        const button = make("button", content, { type: "button", className: "quiet", title: "Show it on the chart" });
        button.addEventListener("click", () => {
          showTrade(row);
          byId("candles").scrollIntoView();
          byId("candles").focus({ preventScroll: true });
        });
        line.append(make("th", button, { scope: "row" }));
      }
    }
    return line;
  };

  /* Filters by the values that occur; the line below sums up what they leave. */
  const filters = Object.entries({
    Symbol: columns.symbol[0],
    Side: columns.side[0],
    "Exit reason": columns.reason[0],
    Result: trades.profit.map((profit) => (profit > 0 ? "Won" : "Lost")),
  }).map(([name, values]) => ({ name, values, options: [...new Set(values)].sort() })).filter(({ options }) => options.length > 1);
  let [order, length] = [rows, 25];
  const showRows = () => {
    const kept = order.filter((row) => filters.every(({ values, select }) => !select.value || values[row] === select.value));
    body.replaceChildren(...kept.slice(0, length).map(rowOf));
    const profit = kept.reduce((sum, row) => sum + trades.profit[row], 0);
    const won = kept.filter((row) => trades.profit[row] > 0).length;
    byId("trade-count").textContent = `${shortest(kept.length)} of ${shortest(rows.length)} trades: net ${rupees(profit)}, ${shortest(won)} won.`;
    byId("more-trades").hidden = kept.length <= length;
  };
  for (const filter of filters) {
    const options = filter.options.map((option) => new Option(option));
    filter.select = make("select", new Option(`${filter.name}: all`, ""), { ariaLabel: filter.name });
    filter.select.append(...options);
    filter.select.addEventListener("change", showRows);
    byId("trade-filters").append(filter.select);
  }
  /* Numbers are sorted largest first at the first click, texts from A; what is not known is last. */
  const sortBy = (name, header) => {
    const [values, format] = columns[name];
    const sorted = header.getAttribute("aria-sort");
    const sign = (sorted ? sorted === "descending" : format === text) ? 1 : -1;
    for (const other of head.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    order = [...rows].sort((a, b) => {
      const [left, right] = [values[a], values[b]];
      if (left === right) return a - b;
      if (left === null || right === null) return left === null ? 1 : -1;
      return left < right ? -sign : sign;
    });
    showRows();
  };
  for (const header of head.cells) {
    const button = make("button", header.textContent, { type: "button" });
    button.addEventListener("click", () => sortBy(header.dataset.column, header));
    header.replaceChildren(button);
  }
  byId("more-trades").addEventListener("click", () => {
    length += 100;
    showRows();
  });
  showRows();
})();
