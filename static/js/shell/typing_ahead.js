// Keys that a person presses before the page can answer them: while it loads, while a dialog's module loads, and while
// the page is left for another one. None of them runs a command. Text that follows a key that opens a field ("/", the
// palette) is put into that field as soon as it has the focus.
const LEFT_MS = 5_000; // a download also announces that the page is left, and then it stays

let held = ""; // "/" and what was typed after it, or what was typed for a dialog
let waits = 0; // modules of dialogs that load
let left = 0; // when the page announced to be left

// This module may come after the event that follows the page's modules; "interactive" is before and after it.
let isLoading = !performance.getEntriesByType("navigation")[0].domContentLoadedEventStart;
export const isEarly = () => isLoading || waits > 0 || Date.now() - left < LEFT_MS;

// Holds a key that was pressed early, if it is for a field: while the page loads only "/" and what follows it.
export function hold(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key == "Backspace") held = held.slice(0, -1);
  else if (event.key.length == 1 && (waits || (isLoading && (held || event.key == "/")))) held += event.key;
  else return;
  event.preventDefault();
}

// Runs what gives a field the focus, and puts the held text into the field.
export async function focusing(open) {
  waits += 1;
  try {
    await open();
  } finally {
    waits -= 1;
    if (!waits) release();
  }
}

function release() {
  const field = document.activeElement;
  const text = held;
  held = "";
  if (!text || !field.matches("input:not([type=checkbox], [type=radio]), textarea")) return;
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new InputEvent("input", { bubbles: true, data: text, inputType: "insertText" }));
}

// Calls `search`, which focuses the search field, once the page can answer, if "/" was pressed before.
export function whenReady(search) {
  const ready = () => {
    isLoading = false;
    if (!held) return;
    held = held.slice(1);
    focusing(search);
  };
  if (isLoading) addEventListener("DOMContentLoaded", ready, { once: true });
}

addEventListener("beforeunload", () => (left = Date.now()));
addEventListener("pageshow", () => (left = 0)); // the page came back from the browser's history
