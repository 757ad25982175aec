// Of a loop that goes on a page keeps what a reload would show ([data-window]): the last [data-limit] turns or events,
// of turns as many as weigh [data-bytes]. Who reads further up keeps what is there and some of what follows; what a
// reader opened, selected or has focused stays. What is left behind can be brought back (list_gaps.js).
import { button, list, updateGaps, most, order, pane, rows, keepScroll, top } from "./list_gaps.js";
export { bring } from "./list_gaps.js";

const bytes = Number(list.dataset.bytes || Infinity);
const ROOM = 4; // windows, for a reader further up
const ABOVE = most / 2; // that stay above the first in view
const sizes = new WeakMap(); // of turns that have ended
let lastSeen = ""; // what the list held then
let isLong = false;

function size(row) {
  const found = sizes.get(row) ?? row.innerHTML.length;
  if (row.ariaBusy != "true") sizes.set(row, found);
  return found;
}

// Returns where the window begins: of a list, and so many windows.
function windowStart(all, windows) {
  let weight = 0;
  let at = all.length;
  while (at && all.length - at < most * windows) {
    weight += bytes < Infinity && size(all[at - 1]);
    if (weight > bytes * windows && at < all.length) break;
    at--;
  }
  return at;
}

function isInUse(row, opened) {
  const selection = getSelection();
  const isSelected = !selection.isCollapsed && selection.containsNode(row, true);
  return isSelected || row.contains(document.activeElement) || (opened.has(row) && row.querySelector("details[open]"));
}

function removeOld(all, opened) {
  const isAtEnd = pane.scrollTop + pane.clientHeight > pane.scrollHeight - 4;
  const isUp = !isAtEnd && button.ariaPressed != "true";
  if (isUp && !windowStart(all, ROOM)) return;
  const edge = top(pane);
  const first = isUp ? all.findIndex((each) => each.getBoundingClientRect().bottom > edge) : all.length;
  const isNear = (at) => at >= first - ABOVE && at < first + most;
  const start = windowStart(all, 1);
  const left = all.filter((each, at) => at < start && !(isUp && isNear(at)) && !isInUse(each, opened));
  keepScroll(isUp && all[first], () => left.forEach((row) => row.remove()));
}

// Looks after the list when something came. `opened`: the rows in which the reader opened something.
export function update(opened) {
  const now = `${list.childElementCount} ${order(list.lastElementChild)}`;
  if (now == lastSeen && !isLong) return;
  const all = rows();
  isLong = windowStart(all, 1) > 0;
  if (isLong) removeOld(all, opened);
  updateGaps();
  lastSeen = `${list.childElementCount} ${order(list.lastElementChild)}`;
}
