// The list of sessions: x selects rows, c compares two ([data-selection]), l pauses ([data-pause]).
const picked = () => [...document.querySelectorAll("[data-selected] [data-row]")];
const bar = document.querySelector("[data-selection]");

function pick(row) {
  if (row) row.toggleAttribute("data-selected");
  else for (const link of picked()) link.closest("[data-selected]").removeAttribute("data-selected");
  const rows = picked();
  bar.hidden = !rows.length;
  const hint = rows.length < 2 ? ": select another with x" : rows.length > 2 ? ": two can be compared" : "";
  bar.firstElementChild.textContent = `${rows.length} selected${hint}`;
  const link = bar.querySelector("a");
  link.hidden = rows.length != 2;
  link.href = `${bar.dataset.selection}?${rows.map((each) => `of=${each.pathname.split("/").pop()}`).join("&")}`;
}

addEventListener("key", (event) => {
  const row = document.activeElement.closest("[data-row]")?.closest("[data-keep]");
  if (event.detail != "x" || !row || !bar) return;
  event.preventDefault();
  pick(row);
});

addEventListener("keydown", (event) => {
  if (event.key != "Escape" || event.defaultPrevented) return;
  if (event.target.matches("[type=search]")) event.target.blur();
  else if (bar && !bar.hidden) pick();
});

addEventListener("click", (event) => {
  const button = event.target.closest("[data-pause]");
  if (!button) return;
  button.ariaPressed = String(document.body.toggleAttribute("data-paused"));
  button.querySelector("span").textContent = button.ariaPressed == "true" ? "Paused" : "Live";
  button.querySelector(".dot").className = `dot dot-${button.ariaPressed == "true" ? "off" : "live"}`;
  dispatchEvent(new CustomEvent("live:pause", { detail: button.ariaPressed == "true" }));
});
