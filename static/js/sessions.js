// Keys on the list of sessions: j and k move between rows, Enter opens (the row is a link), / searches, Escape leaves.
const rows = () => [...document.querySelectorAll("[data-row]")];
const typing = (el) => el.closest("input, textarea, select, [contenteditable]") && !["checkbox", "radio"].includes(el.type);

function move(step) {
  const all = rows();
  const at = all.indexOf(document.activeElement.closest("[data-row]"));
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
  next?.focus();
}

const keys = { j: () => move(1), k: () => move(-1), "/": () => document.querySelector("[data-search]")?.focus() };

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const menu = document.querySelector(".facet[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    } else if (event.target.matches("[data-search]")) event.target.blur();
  } else if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing && !typing(event.target)) {
    event.preventDefault();
    keys[event.key]();
  }
});

// A menu closes when the reader goes elsewhere.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(".facet[open]")) if (!menu.contains(event.target)) menu.open = false;
});
