// What htmx does not do by itself. No rule of the service stands here.
"use strict";

// A part that refuses is announced, and brought into view.
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id === "notices") event.target.scrollIntoView({ block: "nearest" });
});

// A browser that cannot reach the service says so.
document.addEventListener("htmx:sendError", () => {
  const notice = document.createElement("p");
  notice.className = "notice error";
  notice.setAttribute("role", "alert");
  notice.textContent = "The service cannot be reached just now.";
  document.getElementById("notices").replaceChildren(notice);
});
