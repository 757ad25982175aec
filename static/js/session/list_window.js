// Limits the list of a running loop ([data-window]) to what a reload would show: the last [data-limit] turns or events,
// and turns of at most [data-bytes] in total. A reader who scrolled up keeps the rows around the position, and those
// loaded by a link, which can be further down; rows with an opened detail, a selection or the focus stay. Removed rows
// can be loaded again (list_gaps.js). Cost: O(rows) for each update; sizes of ended turns are cached.
import { button, list, loaded, updateGaps, most, order, pane, rows, keepScroll, top } from "./list_gaps.js";
export { loadGap } from "./list_gaps.js";

const bytes = Number(list.dataset.bytes || Infinity);
const ROOM = 4; // windows kept for a reader who scrolled up
const ABOVE = most / 2; // rows kept above the first visible one
const sizes = new WeakMap(); // of turns that have ended
let lastSeen = ""; // state of the list after the last update
let isLong = false;

function size(row) {
  const found = sizes.get(row) ?? row.innerHTML.length;
  if (row.ariaBusy != "true") sizes.set(row, found);
  return found;
}

// Returns the index of the first row within the last `windows` windows.
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
  const left = all.filter(
    (each, at) => at < start && !(isUp && (isNear(at) || loaded.has(each))) && !isInUse(each, opened),
  );
  keepScroll(isUp && all[first], () => left.forEach((row) => row.remove()));
}

// Updates the list after rows were added. `opened`: the rows in which the reader opened a detail.
export function update(opened) {
  const now = `${list.childElementCount} ${order(list.lastElementChild)}`;
  if (now == lastSeen && !isLong) return;
  const all = rows();
  isLong = windowStart(all, 1) > 0;
  if (isLong) removeOld(all, opened);
  updateGaps();
  lastSeen = `${list.childElementCount} ${order(list.lastElementChild)}`;
}
