// A key clicks the first element with that [data-key], or focuses it if it is a field. Without such an element the
// page's modules get the event "key"; preventDefault marks it as handled. This module is loaded with `async`: it runs
// before the page is complete, so that no key is lost to a field that gets the focus. A second script element, without
// `async`, makes the page wait for it.
import { focusing, hold, isEarly, whenReady } from "./typing_ahead.js";

const FIELDS = "input:not([data-select]), textarea, select, [contenteditable], dialog[open]";
let before = ""; // the first key of a sequence: the g of "g s"

function name(event) {
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  const bare = event.getModifierState("AltGraph");
  const held = [
    (ctrlKey || metaKey) && !bare && "Mod+",
    altKey && !bare && "Alt+",
    shiftKey && key.length > 1 && "Shift+",
  ];
  return `${held.filter(Boolean).join("")}${key == " " ? "Space" : key}`;
}

function press(key) {
  const all = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)];
  const target = all.find((each) => each.checkVisibility()) ?? all[0];
  if (target) target.matches("input") ? target.focus() : target.click();
  return (
    Boolean(target) ||
    !dispatchEvent(new CustomEvent("key", { detail: key, cancelable: true })) ||
    row({ j: 1, k: -1 }[key])
  );
}

function row(step) {
  const all = step ? [...document.querySelectorAll("[data-row]")] : [];
  const at = all.findIndex((each) => (each.closest("[role=row]") ?? each).contains(document.activeElement));
  all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)]?.focus();
  return all.length > 0;
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  const key = before + name(event);
  // A field that has just been hidden keeps the focus until the next frame.
  const isTyped = event.target.closest(FIELDS)?.checkVisibility();
  const isMine = key.startsWith("Mod+") || (document.documentElement.dataset.keys != "off" && !isTyped);
  if (isMine && !key.startsWith("Mod+") && isEarly()) return hold(event);
  before = isMine && event.key == "g" && !before ? "g " : "";
  if (before) setTimeout(() => (before = ""), 1500);
  // Enter and Space keep their native meaning on controls.
  if (!isMine || key == "Enter" || (key == "Space" && event.target.closest("a, button, summary, [role]"))) return;
  if (press(key)) event.preventDefault();
});

// [data-dialog] opens the palette or the list of shortcuts; their modules load on first use.
addEventListener("click", async (event) => {
  const opener = event.target.closest("[data-dialog]");
  if (!opener || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  await focusing(async () => {
    if (opener.dataset.dialog == "keys") (await import("./keys_help.js")).open();
    else (await import("./palette.js")).open(opener.href, press);
  });
});

whenReady(() => press("/"));
