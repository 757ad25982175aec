// [data-window]: of a loop that goes on the page keeps the turns that a reload would show, the last [data-most] or as many as
// weigh [data-bytes]. Who reads further up keeps what is there and some of what follows; what a reader opened, selected or has
// focused stays. What mends the list comes with the first gap in it.
const list = document.querySelector("[data-window]");
const pane = list?.parentElement;
const most = Number(list?.dataset.most);
const ROOM = 4; // windows, for a reader further up
const ABOVE = 5; // turns above the first in view that stay
const opened = new WeakSet(); // turns in which the reader opened something
const sizes = new WeakMap(); // of turns that have ended
const turns = () => [...list.children].filter((each) => !("gap" in each.dataset));
const order = (turn) => Number(turn?.dataset.order ?? -1);
let looked = ""; // what was there when it was last looked at
let isLong = false;
let gaps;
let due;

function size(turn) {
  const found = sizes.get(turn) ?? turn.innerHTML.length;
  if (turn.ariaBusy != "true") sizes.set(turn, found);
  return found;
}

// Returns where the window begins: of a list, and so many windows.
function begin(all, windows) {
  let bytes = 0;
  let at = all.length;
  while (at && all.length - at < most * windows) {
    bytes += size(all[at - 1]);
    if (bytes > list.dataset.bytes * windows && at < all.length) break;
    at--;
  }
  return at;
}

function isHeld(turn) {
  const selection = getSelection();
  const isSelected = !selection.isCollapsed && selection.containsNode(turn, true);
  return isSelected || turn.contains(document.activeElement) || (opened.has(turn) && turn.querySelector("details[open]"));
}

function trim(all) {
  const isAtEnd = pane.scrollTop + pane.clientHeight > pane.scrollHeight - 4;
  const isUp = !isAtEnd && document.querySelector("[data-follow]")?.ariaPressed != "true";
  if (isUp && !begin(all, ROOM)) return;
  const top = pane.getBoundingClientRect().top;
  const first = isUp ? all.findIndex((each) => each.getBoundingClientRect().bottom > top) : all.length;
  const isNear = (at) => at >= first - ABOVE && at < first + most;
  for (const turn of all.filter((each, at) => at < begin(all, 1) && !(isUp && isNear(at)) && !isHeld(each))) turn.remove();
}

function look() {
  due = 0;
  const now = `${list.childElementCount} ${order(list.lastElementChild)}`;
  if (now == looked && !isLong) return;
  const all = turns();
  isLong = begin(all, 1) > 0;
  if (isLong) trim(all);
  const isWhole = order(all.at(-1)) - order(all[0]) < all.length;
  if (isLong || !isWhole) gaps ??= import(list.dataset.gaps);
  gaps?.then(({ mend }) => mend());
  looked = `${list.childElementCount} ${order(list.lastElementChild)}`;
}

if (list) {
  addEventListener("live:frame", () => (document.hidden ? look() : (due ||= requestAnimationFrame(look))));
  addEventListener("click", ({ target }) => opened.add(target.closest?.("summary")?.closest("[data-window] > *") ?? target));
}
