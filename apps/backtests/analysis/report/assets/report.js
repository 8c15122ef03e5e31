"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const { equity, prices, symbols, trades } = JSON.parse(byId("data").textContent);
  const { createChart, BaselineSeries, LineSeries, CandlestickSeries, LineStyle } = LightweightCharts;


  /* Columns of times and of closes have a first value and then the differences (charts.py). */
  const summed = (differences) => {
    let sum = 0;
    return differences.map((difference) => (sum += difference));
  };
  /* Charts know UTC alone: a minute is given as the second at which UTC reads what India reads. */
  const seconds = (minutes) => (minutes + 330) * 60;

  equity.time = summed(equity.time).map(seconds);
  trades.number = summed(trades.number);
  trades.entry = summed(trades.entry).map(seconds);
  trades.exit = trades.entry.map((entry, row) => entry + trades.held[row] * 60);
  trades.rows = [...trades.number.keys()];
  for (const price of prices) {
    const unit = 10 ** price.decimals;
    const close = summed(price.close);
    price.time = summed(price.time).map(seconds);
    price.candles = price.time.map((time, i) => ({
      time,
      open: (close[i] + price.open[i]) / unit,
      high: (close[i] + price.high[i]) / unit,
      low: (close[i] - price.low[i]) / unit,
      close: close[i] / unit,
    }));
  }


  const number = (digits, options) => {
    const form = new Intl.NumberFormat("en-IN", {
      minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay: "negative", ...options,
    });
    return (value) => form.format(value).replace("-", "−");
  };
  const inRupees = { style: "currency", currency: "INR" };
  const rupees = number(0, inRupees);
  const paise = number(2, inRupees);
  const ratio = number(2);
  const percent = (value) => ratio(value) + "%";
  const shortest = number(0, { minimumFractionDigits: 0, maximumFractionDigits: 4 });
  const clock = new Intl.DateTimeFormat("en-GB", {
    timeZone: "UTC", day: "2-digit", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
  });
  /* A midnight stands for a day. */
  const moment = (time) => clock.format(time * 1000).replace(", 00:00", "");
  const side = (row) => (trades.side[row] > 0 ? "Long" : "Short");
  const tone = (value) => (value > 0 ? "gain" : value < 0 ? "loss" : "");


  const charts = [];
  let colors = {};
  const readColors = () => {
    const style = getComputedStyle(document.documentElement);
    const names = [
      "benchmark", "card", "down", "gain", "gain-fill", "grid", "label", "line", "long", "loss", "loss-fill",
      "none", "sharpe", "short", "soft", "up",
    ];
    colors = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  };
  const color = (name) => colors[name];
  const chartIn = (box, options) => {
    const chart = createChart(box, {
      autoSize: true,
      layout: { attributionLogo: false }, /* its style element is not allowed; the footer has the notice */
      localization: { timeFormatter: moment },
      rightPriceScale: { borderVisible: false },
      /* The wheel and a vertical drag scroll the page. */
      handleScroll: { mouseWheel: false, vertTouchDrag: false },
      handleScale: { mouseWheel: false },
      ...options,
    });
    charts.push({ box, chart, series: [] });
    return chart;
  };
  const addTo = (chart, kind, options, colorsOf, pane = 0) => {
    const series = chart.addSeries(kind, { priceLineVisible: false, lastValueVisible: false, ...options }, pane);
    charts.find((entry) => entry.chart === chart).series.push({ series, colorsOf });
    return series;
  };
  const paint = () => {
    readColors();
    for (const { chart, series } of charts) {
      chart.applyOptions({
        layout: {
          background: { color: "transparent" }, textColor: color("soft"), fontSize: 11,
          fontFamily: getComputedStyle(document.body).fontFamily,
          panes: { separatorColor: color("line"), separatorHoverColor: color("line"), enableResize: false },
        },
        grid: { vertLines: { color: color("grid") }, horzLines: { color: color("grid") } },
        timeScale: { borderColor: color("line") },
        crosshair: {
          vertLine: { color: color("soft"), labelBackgroundColor: color("label") },
          horzLine: { color: color("soft"), labelBackgroundColor: color("label") },
        },
      });
      for (const { series: painted, colorsOf } of series) painted.applyOptions(colorsOf());
    }
  };
  const legend = (box, parts) => {
    box.replaceChildren(
      ...parts.map(([text, className = ""]) => {
        const part = document.createElement("span");
        part.className = className;
        part.textContent = text;
        return part;
      }),
    );
  };


  const drawEquity = () => {
    if (!equity.time.length) return;
    const chart = chartIn(byId("equity"), {
      timeScale: { timeVisible: true, minBarSpacing: 0.01, fixLeftEdge: true, fixRightEdge: true },
    });
    const format = (formatter, minMove) => ({ priceFormat: { type: "custom", formatter, minMove } });
    const points = (values) =>
      equity.time.map((time, i) => (values[i] === null ? { time } : { time, value: values[i] }));
    const curve = addTo(
      chart, BaselineSeries,
      { ...format(rupees, 1), baseValue: { type: "price", price: equity.capital }, lineWidth: 2 },
      () => ({
        topLineColor: color("gain"), topFillColor1: color("gain-fill"), topFillColor2: color("none"),
        bottomLineColor: color("loss"), bottomFillColor1: color("none"), bottomFillColor2: color("loss-fill"),
      }),
    );
    curve.setData(points(equity.equity));
    if (equity.benchmark) {
      addTo(
        chart, LineSeries, { ...format(rupees, 1), lineWidth: 1, lineStyle: LineStyle.Solid },
        () => ({ color: color("benchmark") }),
      ).setData(points(equity.benchmark));
    }
    addTo(
      chart, BaselineSeries, { ...format(percent, 0.01), baseValue: { type: "price", price: 0 }, lineWidth: 1 },
      () => ({
        topLineColor: color("loss"), topFillColor1: color("none"), topFillColor2: color("none"),
        bottomLineColor: color("loss"), bottomFillColor1: color("loss-fill"), bottomFillColor2: color("loss-fill"),
      }), 1,
    ).setData(points(equity.drawdown));
    if (equity.sharpe) {
      const sharpe = addTo(
        chart, LineSeries, { ...format(ratio, 0.01), lineWidth: 1 }, () => ({ color: color("sharpe") }), 2,
      );
      sharpe.setData(points(equity.sharpe));
      sharpe.createPriceLine({ price: 0, lineWidth: 1, lineStyle: LineStyle.Dotted, axisLabelVisible: false });
    }
    chart.panes()[1].priceScale("right").applyOptions({ scaleMargins: { top: 0.12, bottom: 0.1 } });
    chart.panes().forEach((pane, i) => pane.setStretchFactor(i ? 1 : 3));
    chart.timeScale().fitContent();
    const tell = (at) => {
      const parts = [[moment(equity.time[at])], ["Equity " + rupees(equity.equity[at]), "key equity"]];
      if (equity.benchmark) parts.push(["Buy and hold " + rupees(equity.benchmark[at]), "key benchmark"]);
      parts.push(["Drawdown " + percent(equity.drawdown[at]), "key drawdown"]);
      if (equity.sharpe) {
        const value = equity.sharpe[at];
        parts.push(["Rolling Sharpe " + (value === null ? "–" : ratio(value)), "key sharpe"]);
      }
      legend(byId("equity-legend"), parts);
    };
    tell(equity.time.length - 1);
    chart.subscribeCrosshairMove(({ logical }) => {
      const last = equity.time.length - 1;
      tell(logical === undefined ? last : Math.min(Math.max(logical, 0), last));
    });
  };


  /* The index of the last candle that starts at or before a time. */
  const candleAt = (starts, time) => {
    let [low, high] = [0, starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (starts[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return Math.max(low - 1, 0);
  };

  /* Draws the trades of a symbol on its candles: entries, exits, and a line from one to the other. */
  class TradeMarks {
    #view = { zOrder: () => "top", renderer: () => ({ draw: (target) => this.#draw(target) }) };

    constructor(onDrawn) {
      this.onDrawn = onDrawn;
      this.show({ time: [] });
    }

    show(price) {
      this.chosen = undefined;
      const rows = trades.rows.filter((row) => trades.symbol[row] === price.symbol && price.time.length);
      /* The largest results first: of more trades in sight than there is room for, these are drawn. */
      this.rows = rows.sort((a, b) => Math.abs(trades.profit[b]) - Math.abs(trades.profit[a]));
      this.price = price;
      this.byCandle = new Map();
      for (const row of rows) {
        for (const candle of new Set([trades.entry[row], trades.exit[row]].map((t) => candleAt(price.time, t)))) {
          this.byCandle.set(candle, [...(this.byCandle.get(candle) ?? []), row]);
        }
      }
    }

    /* The candle and the place inside of it: the middle, or in a longer one as far as the time is. */
    place(time) {
      const candle = candleAt(this.price.time, time);
      if (!this.price.isLonger) return [candle, 0];
      const inside = (time - this.price.time[candle]) / this.price.seconds;
      return [candle, -0.4 + 0.8 * Math.min(inside, 1)];
    }

    attached({ chart, series, requestUpdate }) {
      Object.assign(this, { chart, series, requestUpdate });
    }

    paneViews() {
      return [this.#view];
    }

    #draw(target) {
      const scale = this.chart.timeScale();
      const range = scale.getVisibleLogicalRange();
      if (!range) return;
      const width = scale.logicalToCoordinate(1) - scale.logicalToCoordinate(0);
      const x = ([candle, inside]) => scale.logicalToCoordinate(candle) + inside * width;
      const inSight = this.rows.filter(
        (row) => this.place(trades.exit[row])[0] >= range.from && this.place(trades.entry[row])[0] <= range.to,
      );
      target.useMediaCoordinateSpace(({ context, mediaSize }) => {
        const shown = inSight.slice(0, Math.round(mediaSize.width / 10));
        for (const row of shown.reverse()) {
          const won = color(trades.profit[row] > 0 ? "gain" : "loss");
          const from = [x(this.place(trades.entry[row])), this.series.priceToCoordinate(trades.entryPrice[row])];
          const to = [x(this.place(trades.exit[row])), this.series.priceToCoordinate(trades.exitPrice[row])];
          const chosen = row === this.chosen;
          context.lineWidth = chosen ? 2 : 1;
          context.setLineDash(chosen ? [] : [2, 2]);
          context.strokeStyle = won;
          context.beginPath();
          context.moveTo(...from);
          context.lineTo(...to);
          context.stroke();
          context.setLineDash([]);
          context.lineWidth = 1;
          context.strokeStyle = color("card");
          this.#triangle(context, from, trades.side[row], chosen ? 7 : 5);
          context.fillStyle = won;
          context.beginPath();
          context.arc(...to, chosen ? 5 : 3.5, 0, 2 * Math.PI);
          context.fill();
          context.stroke();
        }
        this.onDrawn(shown.length, inSight.length);
      });
    }

    #triangle(context, [x, y], direction, size) {
      context.fillStyle = color(direction > 0 ? "long" : "short");
      context.beginPath();
      context.moveTo(x, y - direction * size);
      context.lineTo(x - size, y + direction * size);
      context.lineTo(x + size, y + direction * size);
      context.closePath();
      context.fill();
      context.stroke();
    }
  }

  const drawPrices = () => {
    const picker = byId("symbol");
    const sight = byId("sight");
    const chart = chartIn(byId("price"), {
      timeScale: { timeVisible: true, minBarSpacing: 0.01, rightOffset: 2 },
      crosshair: { mode: 0 },
    });
    const series = addTo(chart, CandlestickSeries, {}, () => ({
      upColor: color("up"), wickUpColor: color("up"), borderUpColor: color("up"),
      downColor: color("down"), wickDownColor: color("down"), borderDownColor: color("down"),
    }));
    const marks = new TradeMarks((drawn, total) => {
      sight.textContent = drawn < total
        ? `Of ${shortest(total)} trades in sight the ${shortest(drawn)} with the largest results are drawn; zoom in for the others.`
        : "";
    });
    series.attachPrimitive(marks);
    const scale = chart.timeScale();
    const candles = () => prices[picker.selectedIndex]?.candles ?? [];

    const tell = (at) => {
      const candle = candles()[at];
      if (!candle) return legend(byId("price-legend"), [["No candles of this symbol are stored any more."]]);
      const price = (name) => `${name[0].toUpperCase()} ${ratio(candle[name])}`;
      const parts = [[moment(candle.time)], [["open", "high", "low", "close"].map(price).join("  ")]];
      const rows = marks.byCandle.get(at) ?? [];
      for (const row of rows.slice(0, 2)) {
        const [from, to] = [trades.entryPrice[row], trades.exitPrice[row]].map(ratio);
        const text = `#${trades.number[row]} ${side(row)} ${shortest(trades.quantity[row])} at ${from}, out at ${to}`;
        parts.push([`${text}: ${trades.reasons[trades.reason[row]].toLowerCase()}, ${paise(trades.profit[row])}`, tone(trades.profit[row])]);
      }
      if (rows.length > 2) parts.push([`and ${rows.length - 2} more trades in this candle`]);
      legend(byId("price-legend"), parts);
    };
    const showSymbol = () => {
      const price = prices[picker.selectedIndex];
      const minMove = 10 ** -(price?.decimals ?? 2);
      series.applyOptions({ priceFormat: { type: "price", precision: price?.decimals ?? 2, minMove } });
      series.setData(candles());
      marks.show(price ?? { time: [] });
      const last = candles().length - 1;
      scale.setVisibleLogicalRange({ from: Math.max(-1, last - byId("price").clientWidth / 9), to: last + 2 });
      tell(last);
    };
    /* Shows a part of what is in sight, or more, around its middle. */
    const zoom = (factor) => {
      const { from, to } = scale.getVisibleLogicalRange();
      const [middle, half] = [(from + to) / 2, Math.max(((to - from) / 2) * factor, 5)];
      scale.setVisibleLogicalRange({ from: middle - half, to: middle + half });
    };
    showSymbol();
    picker.addEventListener("change", showSymbol);
    byId("zoom-in").addEventListener("click", () => zoom(0.5));
    byId("zoom-out").addEventListener("click", () => zoom(2));
    byId("whole").addEventListener("click", () => scale.setVisibleLogicalRange({ from: -1, to: candles().length }));
    chart.subscribeCrosshairMove(({ logical }) => tell(logical ?? candles().length - 1));

    return (row) => {
      const index = prices.findIndex((price) => price.symbol === trades.symbol[row]);
      if (index < 0) return;
      if (index !== picker.selectedIndex) {
        picker.selectedIndex = index;
        showSymbol();
      }
      const [[entry], [exit]] = [trades.entry[row], trades.exit[row]].map((time) => marks.place(time));
      marks.chosen = row;
      scale.setVisibleLogicalRange({ from: entry - 20, to: exit + 20 });
      marks.requestUpdate();
      tell(exit);
      byId("price-title").scrollIntoView({ block: "start" });
      picker.focus({ preventScroll: true });
    };
  };


  const listTrades = (showOnChart) => {
    const plain = (name) => trades[name];
    const text = (value) => value;
    const known = (format) => (value) => (value === null ? "–" : format(value));
    const columns = [
      { title: "#", values: plain("number"), format: text },
      { title: "Symbol", values: trades.symbol.map((index) => symbols[index]), format: text, isText: true },
      { title: "Side", values: trades.rows.map(side), format: text, isText: true },
      { title: "Quantity", values: plain("quantity"), format: shortest },
      { title: "Entry", values: plain("entry"), format: moment },
      { title: "Entry price", values: plain("entryPrice"), format: ratio },
      { title: "Exit", values: plain("exit"), format: moment },
      { title: "Exit price", values: plain("exitPrice"), format: ratio },
      { title: "Exit reason", values: trades.reason.map((code) => trades.reasons[code]), format: text, isText: true },
      { title: "Net P&L", values: plain("profit"), format: paise, tone },
      { title: "Return", values: plain("return"), format: percent, tone },
      { title: "MAE", values: plain("mae"), format: known(percent), hint: "Maximum adverse excursion, of the entry price" },
      { title: "MFE", values: plain("mfe"), format: known(percent), hint: "Maximum favorable excursion, of the entry price" },
      { title: "Bars", values: plain("bars"), format: shortest, hint: "Bars that the position lived through" },
      { title: "Charges", values: plain("charges"), format: paise },
      { title: "Entry delay", values: plain("delay"), format: known(shortest), hint: "Bars of sessions between the signal and the entry" },
      { title: "Volume share", values: plain("share"), format: known(percent), hint: "Quantity in percent of the volume of the entry's bar" },
    ].filter(({ title, values }) => values.some((value) => value !== null) && (title !== "Symbol" || symbols.length > 1));

    const table = byId("trade-list");
    const [head, body] = [table.tHead.rows[0], table.tBodies[0]];
    const pageSize = byId("page-size");
    let order = trades.rows;
    let page = 0;

    const cell = (tag, content) => {
      const element = document.createElement(tag);
      element.append(content);
      return element;
    };
    const rowOf = (row) => {
      const line = document.createElement("tr");
      for (const { values, format, isText, tone: toneOf } of columns) {
        if (values === trades.number) {
          const button = cell("button", String(values[row]));
          button.type = "button";
          button.title = `Show trade ${values[row]} on the chart`;
          button.addEventListener("click", () => showOnChart(row));
          const header = cell("th", button);
          header.scope = "row";
          line.append(header);
        } else {
          const datum = cell("td", format(values[row]));
          datum.className = toneOf ? toneOf(values[row]) : isText ? "text" : "";
          line.append(datum);
        }
      }
      return line;
    };
    const showPage = () => {
      const size = Number(pageSize.value);
      const pages = Math.max(1, Math.ceil(order.length / size));
      page = Math.min(Math.max(page, 0), pages - 1);
      const rows = order.slice(page * size, (page + 1) * size);
      body.replaceChildren(...rows.map(rowOf));
      byId("page").textContent =
        `Trades ${shortest(page * size + 1)} to ${shortest(page * size + rows.length)} of ${shortest(order.length)}`;
      byId("first").disabled = byId("previous").disabled = page === 0;
      byId("next").disabled = byId("last").disabled = page === pages - 1;
    };
    /* Numbers are sorted largest first at the first click, texts from A; what is not known is last. */
    const sortBy = (column, header) => {
      const sorted = header.getAttribute("aria-sort");
      const ascending = sorted === "none" ? Boolean(column.isText) : sorted === "descending";
      for (const other of head.cells) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const { values } = column;
      const sign = ascending ? 1 : -1;
      order = [...trades.rows].sort((a, b) => {
        const [left, right] = [values[a], values[b]];
        if (left === right) return a - b;
        if (left === null || right === null) return left === null ? 1 : -1;
        return left < right ? -sign : sign;
      });
      page = 0;
      showPage();
    };
    for (const column of columns) {
      const button = cell("button", column.title);
      button.type = "button";
      const header = cell("th", button);
      header.scope = "col";
      header.title = column.hint ?? "";
      header.className = column.isText ? "text" : "";
      header.setAttribute("aria-sort", column.values === trades.number ? "ascending" : "none");
      button.addEventListener("click", () => sortBy(column, header));
      head.append(header);
    }
    const turn = (id, to) => byId(id).addEventListener("click", () => { page = to(); showPage(); });
    turn("first", () => 0);
    turn("previous", () => page - 1);
    turn("next", () => page + 1);
    turn("last", () => Infinity);
    pageSize.addEventListener("change", () => { page = 0; showPage(); });
    showPage();
  };


  const draw = () => {
    drawEquity();
    const showOnChart = drawPrices();
    paint();
    if (trades.rows.length) listTrades(showOnChart);
  };
  /* Printing waits for no frame, so what is printed are copies of the charts. */
  const print = (onPaper) => {
    document.documentElement.classList.toggle("paper", onPaper);
    paint();
    for (const { box, chart } of charts) {
      box.querySelector(".copy")?.remove();
      if (!onPaper) continue;
      const copy = chart.takeScreenshot(true);
      copy.className = "copy";
      box.append(copy);
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  /* What stands in the page is shown first, then what has to be drawn. */
  requestAnimationFrame(() => setTimeout(draw));
})();
