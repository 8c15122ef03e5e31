// One stream of events for all tabs of a browser. The tab that holds a lock reads it and tells the
// others; when it is closed, the next one goes on after the last event. A page is told by two events
// of its body, `live:change` and `live:bars`, and asks again for the parts that they concern.
"use strict";
(() => {
  const NAME = "algotrade-events";
  const TEXTS = {
    open: "Live",
    waiting: "Offline: trying again",
    crowded: "Offline: this login has too many event streams. Trying again",
    ended: "Signed out",
  };
  const LONGEST_WAIT = 60_000;
  // A stream that says nothing for so long is lost: it sends a comment each 15 seconds.
  const LONGEST_SILENCE = 45_000;
  // A stream that ends sooner counts as a failure.
  const SHORTEST_STREAM = 5_000;
  // The service tells of the bars of so many symbols.
  const MOST_SYMBOLS = 50;
  // What a page is told of at most twice a second.
  const LEAST_INTERVAL = 500;

  const parts = [...document.querySelectorAll("[data-symbols]")];
  const ownSymbols = parts.flatMap((part) => part.dataset.symbols.split(","));
  const symbols = new Set(ownSymbols);
  const channel = navigator.locks ? new BroadcastChannel(NAME) : null;
  let isLeader = false;
  let lastId = "";
  let state = "";
  let reconnect = () => {};


  // The first change is told at once; what comes within the interval after it, or while nobody sees
  // the page, is told once later.
  const recent = new Set();
  const pending = new Set();
  const notify = (name) => {
    if (recent.has(name) || document.hidden) {
      pending.add(name);
      return;
    }
    recent.add(name);
    document.body.dispatchEvent(new CustomEvent(`live:${name}`));
    setTimeout(() => {
      recent.delete(name);
      if (pending.delete(name)) notify(name);
    }, LEAST_INTERVAL);
  };
  document.addEventListener("visibilitychange", () => {
    for (const name of pending) if (!document.hidden && pending.delete(name)) notify(name);
  });

  const showState = (next, isNew) => {
    const hasOpened = next === "open" && (isNew || state !== "open");
    state = next;
    const status = document.getElementById("stream");
    if (status) [status.dataset.state, status.textContent] = [state, TEXTS[state]];
    if (hasOpened) for (const name of ["change", "bars"]) notify(name); // hints before it are lost
  };

  const receive = (message) => {
    if (message.id) lastId = message.id;
    if (message.state) showState(message.state, message.isNew);
    if (message.type === "bars") {
      if (ownSymbols.includes(message.symbol)) notify("bars");
    } else if (message.type) {
      notify("change");
    }
  };


  const share = (message) => {
    receive(message);
    channel?.postMessage(message);
  };
  const tellSymbols = () => channel?.postMessage({ symbols: ownSymbols });
  const wantedSymbols = () => [...symbols].sort().slice(0, MOST_SYMBOLS).join(",");
  if (channel) {
    channel.onmessage = ({ data }) => {
      if (data.asksForSymbols && ownSymbols.length) tellSymbols();
      if (!data.symbols) return receive(data);
      const before = wantedSymbols();
      for (const symbol of data.symbols) symbols.add(symbol);
      if (!isLeader) return;
      if (state) channel.postMessage({ state });
      if (wantedSymbols() !== before) reconnect();
    };
  }


  // A wait ends early when the browser is back on the network.
  const pause = (milliseconds) =>
    new Promise((resolve) => {
      setTimeout(resolve, milliseconds);
      addEventListener("online", resolve, { once: true });
    });

  // Shares the messages of the stream as they come; returns what it says how long to wait before the
  // next one.
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

  // Returns the state to show until the next try, and the milliseconds until then.
  let failures = 0;
  const connect = async () => {
    const aborter = new AbortController();
    let hasNewSymbols = false;
    reconnect = () => {
      hasNewSymbols = true;
      aborter.abort();
    };
    const lose = () => aborter.abort();
    addEventListener("offline", lose);
    const began = Date.now();
    let [next, retry] = ["waiting", 2000];
    let timer;
    const expectBytes = () => {
      clearTimeout(timer);
      timer = setTimeout(lose, LONGEST_SILENCE);
    };
    try {
      expectBytes();
      const query = symbols.size ? `?symbols=${encodeURIComponent(wantedSymbols())}` : "";
      const headers = lastId ? { "Last-Event-ID": lastId } : {};
      const response = await fetch(`/api/events${query}`, { headers, signal: aborter.signal, cache: "no-store" });
      if (response.status === 401 || response.status === 403) return ["ended", 0];
      if (response.status === 429) next = "crowded";
      if (response.ok) {
        share({ state: "open", isNew: true });
        retry = await read(response, expectBytes);
      } else {
        retry = Number(response.headers.get("Retry-After")) * 1000 || retry;
      }
    } catch {
      if (hasNewSymbols) return ["open", 0];
    } finally {
      clearTimeout(timer);
      removeEventListener("offline", lose);
    }
    failures = Date.now() - began < SHORTEST_STREAM ? failures + 1 : 0;
    // Browsers that lost the service together come back one after the other.
    const wait = Math.min(retry * 2 ** Math.max(0, failures - 1), LONGEST_WAIT) * (1 + Math.random() / 2);
    return [next, wait];
  };

  const follow = async () => {
    isLeader = true;
    channel?.postMessage({ asksForSymbols: true });
    for (;;) {
      const [next, wait] = await connect();
      if (next !== "open") share({ state: next });
      if (next === "ended") return;
      await pause(wait);
    }
  };

  tellSymbols();
  if (navigator.locks) navigator.locks.request(NAME, follow);
  else follow();
})();
