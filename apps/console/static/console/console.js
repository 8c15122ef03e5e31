// What htmx does not do by itself. No rule of the service stands here.
"use strict";

const showNotice = (text) => {
  const notice = document.createElement("p");
  notice.className = "notice error";
  notice.setAttribute("role", "alert");
  notice.textContent = text;
  document.getElementById("notices").replaceChildren(notice);
  notice.scrollIntoView({ block: "nearest" });
};

// A part that refuses is announced, and brought into view.
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id === "notices") event.target.scrollIntoView({ block: "nearest" });
});

// The header's row asks again by itself: it does not announce that it cannot.
const isOffline = ({ elt }) => {
  if (elt.id !== "market") return false;
  const feed = elt.querySelector(".feed");
  if (feed) [feed.className, feed.textContent] = ["feed", "Offline"];
  return true;
};

// What is refused before it comes to a page is answered as the API answers.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.xhr.status >= 400 && isOffline(detail)) {
    detail.shouldSwap = false;
    return;
  }
  if (!detail.xhr.getResponseHeader("Content-Type")?.startsWith("application/json")) return;
  detail.shouldSwap = false;
  showNotice(JSON.parse(detail.xhr.responseText).error.message);
});

// A browser that cannot reach the service says so.
document.addEventListener("htmx:sendError", ({ detail }) => {
  if (!isOffline(detail)) showNotice("The service is not reachable.");
});

// A text is copied, or marked for copying where the browser forbids that.
document.addEventListener("click", async ({ target }) => {
  if (!("copies" in target.dataset)) return;
  const text = target.previousElementSibling;
  try {
    await navigator.clipboard.writeText(text.textContent);
    target.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(text);
  }
});

// A file that the service would not take is not sent.
document.addEventListener("change", ({ target }) => {
  if (!target.dataset.largest) return;
  const isTooLarge = [...target.files].some((file) => file.size > Number(target.dataset.largest));
  target.setCustomValidity(isTooLarge ? target.dataset.tooLarge : "");
  target.reportValidity();
});

// The arrow keys move through the choices of a search; Escape closes what is open; Ctrl+S saves.
document.addEventListener("keydown", (event) => {
  const save = document.querySelector(".save [value=save]");
  if (save && (event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    save.click();
  }
  const picker = event.target.closest(".picker");
  if (picker && ["ArrowDown", "ArrowUp"].includes(event.key)) {
    event.target.removeAttribute("autofocus");
    const stops = [...picker.querySelectorAll("input, button")];
    const next = stops.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1);
    stops[Math.max(0, Math.min(next, stops.length - 1))].focus();
    event.preventDefault();
  }
  if (event.key !== "Escape") return;
  const chip = event.target.closest("details.chip[open]");
  if (!chip) return;
  chip.open = false;
  chip.querySelector("summary").focus();
});

// A search that has the focus after a choice shows its choices when it is clicked.
document.addEventListener("pointerdown", ({ target }) => target.removeAttribute("autofocus"));

// An open part closes when something else is clicked.
document.addEventListener("click", ({ target }) => {
  for (const chip of document.querySelectorAll("details.chip[open]")) chip.open = chip.contains(target);
});
