"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const picker = document.getElementById("symbol");
  const finger = matchMedia("(pointer: coarse)").matches;
  const config = {
    displaylogo: false,
    responsive: true,
    locale: "en-IN",
    modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"], ["toImage"]],
  };
  Plotly.register({
    moduleType: "locale",
    name: "en-IN",
    dictionary: {},
    format: { decimal: ".", thousands: ",", grouping: [3, 2, 2, 2, 2, 2], currency: ["₹", ""] },
  });

  const WIDTH_OF_PAPER = 660;
  const style = (onPaper) => {
    const night = dark.matches && !onPaper;
    const soft = night ? "#98a2b3" : "#5c6575";
    const grid = night ? "#2a3140" : "#e9ecf1";
    const axis = { gridcolor: grid, zerolinecolor: grid, linecolor: grid, automargin: true };
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, -apple-system, Segoe UI, Roboto, sans-serif", size: 12, color: soft },
      margin: { l: 12, r: 12, t: 26, b: 12 },
      dragmode: finger ? false : "zoom",
      hoverlabel: {
        bgcolor: night ? "#232a36" : "#ffffff",
        bordercolor: grid,
        font: { color: night ? "#e7eaf0" : "#171c26" },
        align: "left",
      },
      legend: { orientation: "h", x: 0, y: -0.08, yanchor: "top" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: soft, activecolor: night ? "#e7eaf0" : "#171c26" },
      axis,
    };
  };

  const laidOut = (layout, onPaper) => {
    const { axis, ...shared } = style(onPaper);
    const paper = onPaper ? { width: WIDTH_OF_PAPER } : { autosize: true };
    const made = { ...shared, ...paper, ...layout };
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis/.test(name)) made[name] = { ...axis, ...layout[name] };
    }
    return made;
  };

  const inIndia = (options) => {
    const form = new Intl.DateTimeFormat("en-GB", { timeZone: "Asia/Kolkata", ...options });
    return (seconds) => form.format(seconds * 1000);
  };
  const clock = { hour: "2-digit", minute: "2-digit" };
  const month = inIndia({ month: "short", year: "numeric" });
  const day = inIndia({ day: "2-digit", month: "short" });
  const minute = inIndia({ day: "2-digit", month: "short", ...clock });
  const moment = inIndia({ weekday: "short", day: "2-digit", month: "short", year: "numeric", ...clock });
  const rupees = new Intl.NumberFormat("en-IN", { style: "currency", currency: "INR" });
  const DAY = 86400;

  /* The candles stand at whole numbers. As many as there is room for are named, each by the part of
     its time that tells it from its neighbours. */
  const ticks = (time, [first, last], width) => {
    const step = Math.max(1, Math.ceil((last - first) / Math.max(2, Math.floor(width / 110))));
    const span = time[last] - time[first];
    const name = span > 300 * DAY ? month : span > 6 * DAY ? day : minute;
    const tickvals = [];
    for (let at = first; at <= last; at += step) tickvals.push(at);
    return { tickvals, ticktext: tickvals.map((at) => name(time[at])) };
  };

  /* The highest and the lowest price in sight, with some room. */
  const fitted = ({ high, low }, [first, last]) => {
    const top = Math.max(...high.slice(first, last + 1));
    const bottom = Math.min(...low.slice(first, last + 1));
    const room = (top - bottom || top) * 0.05;
    return [bottom - room, top + room];
  };

  /* Trades come with the largest results first: of more than there is room for, the first ones. */
  const inSight = ({ entryX = [], exitX }, [from, to], width) => {
    const all = [...entryX.keys()].filter((n) => exitX[n] >= from && entryX[n] <= to);
    return { shown: all.slice(0, Math.round(width / 5)), total: all.length };
  };

  const paths = (trades, shown, name, color) => ({
    type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false, name,
    x: shown.flatMap((n) => [trades.entryX[n], trades.exitX[n], null]),
    y: shown.flatMap((n) => [trades.entryPrice[n], trades.exitPrice[n], null]),
    line: { color, width: 1.2, dash: "dot" },
  });
  const marks = (x, y, text, shown, name, symbol, color, size) => ({
    type: "scatter", mode: "markers", name,
    x: shown.map((n) => x[n]),
    y: shown.map((n) => y[n]),
    text: shown.map(text),
    hovertemplate: "%{text}<extra></extra>",
    marker: { symbol, color, size, line: { width: 0.75, color: dark.matches ? "#171c25" : "#ffffff" } },
  });
  const tradesOn = (trades, shown, gain, loss) => {
    const won = shown.filter((n) => trades.profit[n] > 0);
    const lost = shown.filter((n) => trades.profit[n] <= 0);
    const long = shown.filter((n) => trades.side[n] > 0);
    const short = shown.filter((n) => trades.side[n] < 0);
    const entry = (n) =>
      `<b>${trades.side[n] > 0 ? "Long" : "Short"} ${trades.quantity[n]}</b> at ` +
      `${rupees.format(trades.entryPrice[n])}<br>${moment(trades.entryTime[n])}`;
    const exit = (n) =>
      `<b>${rupees.format(trades.profit[n])}</b>, out at ${rupees.format(trades.exitPrice[n])}<br>` +
      `${moment(trades.exitTime[n])}<br>${trades.reason[n]}`;
    const { entryX, entryPrice, exitX, exitPrice } = trades;
    return [
      paths(trades, won, "Won", gain),
      paths(trades, lost, "Lost", loss),
      marks(entryX, entryPrice, entry, long, "Long", "triangle-up", "#3b82f6", 10),
      marks(entryX, entryPrice, entry, short, "Short", "triangle-down", "#e08a00", 10),
      marks(exitX, exitPrice, exit, won, "Exit with gain", "circle", gain, 6.5),
      marks(exitX, exitPrice, exit, lost, "Exit with loss", "circle", loss, 6.5),
    ];
  };

  const drawPrice = ({ onPaper = false, range } = {}) => {
    const box = document.getElementById("price");
    const figure = charts.price[picker.value];
    if (!figure || !figure.time.length) {
      Plotly.purge(box);
      box.textContent = "No candles of this symbol are held any more.";
      return;
    }
    const { time, trades } = figure;
    const [candles] = figure.data;
    candles.text ??= time.map(moment);
    const [from, to] = range ?? [-1, time.length];
    const bars = [Math.max(0, Math.ceil(from)), Math.min(time.length - 1, Math.floor(to))];
    if (bars[0] > bars[1]) return;
    const { shown, total } = inSight(trades, [from, to], box.clientWidth);
    const layout = laidOut(figure.layout, onPaper);
    Object.assign(layout.xaxis, { range: [from, to], ...ticks(time, bars, box.clientWidth) });
    layout.yaxis.range = fitted(candles, bars);
    const drawn = tradesOn(trades, shown, candles.increasing.line.color, candles.decreasing.line.color);
    Plotly.react(box, shown.length ? [candles, ...drawn] : [candles], layout, config);
    document.getElementById("sight").textContent =
      shown.length < total
        ? `Of ${total} trades in sight the ${shown.length} with the largest results are drawn; zoom in for the others.`
        : "";
    box.removeAllListeners("plotly_relayout");
    box.on("plotly_relayout", (changed) => {
      if ("xaxis.autorange" in changed) drawPrice();
      else if (Object.keys(changed).some((name) => name.startsWith("xaxis.range"))) {
        drawPrice({ range: box.layout.xaxis.range });
      }
    });
  };

  const drawEquity = (onPaper) =>
    Plotly.react("equity", charts.equity.data, laidOut(charts.equity.layout, onPaper), config);

  const draw = (onPaper = false) => {
    drawEquity(onPaper);
    drawPrice({ onPaper });
  };
  draw();
  picker.addEventListener("change", () => drawPrice());
  dark.addEventListener("change", () => draw());
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw());
})();
