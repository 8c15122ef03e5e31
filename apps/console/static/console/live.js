// One stream of events for all tabs of a browser. The tab that holds a lock reads it and tells the
// others; when it is closed, the next one goes on after the last event. A page is told by two events
// of its body, `live:change` and `live:bars`, and asks again for the parts that they concern.
"use strict";
(() => {
  const NAME = "algotrade-events";
  const TEXTS = {
    open: "Follows what happens.",
    waiting: "Not connected just now; it tries again.",
    ended: "You are signed out.",
  };
  const LONGEST_WAIT = 60_000;
  // A stream that says nothing for so long is lost: it sends a comment each 15 seconds.
  const LONGEST_SILENCE = 45_000;
  // A stream that ends sooner counts as a failure.
  const SHORTEST_STREAM = 5_000;
  // The service tells of the bars of so many symbols.
  const MOST_SYMBOLS = 50;

  const own = [...document.querySelectorAll("[data-symbols]")].flatMap((part) => part.dataset.symbols.split(","));
  const symbols = new Set(own);
  const channel = navigator.locks ? new BroadcastChannel(NAME) : null;
  let isLeader = false;
  let lastId = "";
  let state = "";
  let abort = () => {};

  // ---------------------------------------------------------------------------------- the page

  // At most two a second, the first at once; of a page that nobody sees, one when it is seen.
  const resting = new Set();
  const late = new Set();
  const pulse = (name) => {
    if (resting.has(name) || document.hidden) {
      late.add(name);
      return;
    }
    resting.add(name);
    document.body.dispatchEvent(new CustomEvent(`live:${name}`));
    setTimeout(() => {
      resting.delete(name);
      if (late.delete(name)) pulse(name);
    }, 500);
  };
  document.addEventListener("visibilitychange", () => {
    for (const name of late) if (!document.hidden && late.delete(name)) pulse(name);
  });

  const showState = (next, isNew) => {
    const opens = next === "open" && (isNew || state !== "open");
    state = next;
    const place = document.getElementById("stream");
    if (place) [place.dataset.state, place.textContent] = [state, TEXTS[state]];
    if (opens) for (const name of ["change", "bars"]) pulse(name); // what came before is not known
  };

  const hear = (message) => {
    if (message.id) lastId = message.id;
    if (message.state) showState(message.state, message.isNew);
    if (message.type === "bars") {
      if (own.includes(message.symbol)) pulse("bars");
    } else if (message.type) {
      pulse("change");
    }
  };

  // ---------------------------------------------------------------------------------- other tabs

  const share = (message) => {
    hear(message);
    channel?.postMessage(message);
  };
  const announce = () => channel?.postMessage({ symbols: own });
  const wanted = () => [...symbols].sort().slice(0, MOST_SYMBOLS).join(",");
  if (channel) {
    channel.onmessage = ({ data }) => {
      if (data.asks && own.length) announce();
      if (!data.symbols) return hear(data);
      const before = wanted();
      for (const symbol of data.symbols) symbols.add(symbol);
      if (!isLeader) return;
      channel.postMessage({ state });
      if (wanted() !== before) abort();
    };
  }

  // ---------------------------------------------------------------------------------- the stream

  const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  // Reads lines of server-sent events as they come; a comment is an empty line's worth of news.
  const read = async (response, onBytes) => {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let [rest, message, retry] = ["", {}, 2000];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return retry;
      onBytes();
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const [, field, text] = line.match(/^([^:]*):? ?(.*)$/);
        if (field === "id") message.id = text;
        if (field === "event") message.type = text;
        if (field === "retry") retry = Number(text) || retry;
        if (field === "data" && message.type === "bars") message.symbol = JSON.parse(text).symbol;
        if (line === "") {
          if (message.id || message.type) share(message);
          message = {};
        }
      }
    }
  };

  // Returns the milliseconds to wait before the next try, 0 to try at once, or null to give up.
  let failures = 0;
  const connect = async () => {
    const aborter = new AbortController();
    let isWanted = true;
    abort = () => {
      isWanted = false;
      aborter.abort();
    };
    const began = Date.now();
    let retry = 2000;
    let watch;
    const heard = () => {
      clearTimeout(watch);
      watch = setTimeout(() => aborter.abort(), LONGEST_SILENCE);
    };
    try {
      heard();
      const query = symbols.size ? `?symbols=${encodeURIComponent(wanted())}` : "";
      const headers = lastId ? { "Last-Event-ID": lastId } : {};
      const response = await fetch(`/api/events${query}`, { headers, signal: aborter.signal, cache: "no-store" });
      if (response.status === 401 || response.status === 403) return null;
      if (response.ok) {
        share({ state: "open", isNew: true });
        retry = await read(response, heard);
      } else {
        retry = Number(response.headers.get("Retry-After")) * 1000 || retry;
      }
    } catch {
      if (!isWanted) return 0;
    } finally {
      clearTimeout(watch);
    }
    failures = Date.now() - began < SHORTEST_STREAM ? failures + 1 : 0;
    // Browsers that lost the service together come back one after the other.
    return Math.min(retry * 2 ** Math.max(0, failures - 1), LONGEST_WAIT) * (1 + Math.random() / 2);
  };

  const follow = async () => {
    isLeader = true;
    channel?.postMessage({ asks: true });
    for (;;) {
      const wait = await connect();
      if (wait === null) return share({ state: "ended" });
      if (wait) share({ state: "waiting" });
      await pause(wait);
    }
  };

  announce();
  if (navigator.locks) navigator.locks.request(NAME, follow);
  else follow();
})();
