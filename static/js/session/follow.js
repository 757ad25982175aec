// Follow ([data-follow]) keeps the newest turn or event in view until the reader scrolls up; then [data-unseen] counts
// the entries added below. The first added entry loads list_window.js, which limits the list.
const button = document.querySelector("[data-follow]");
const pill = document.querySelector("[data-unseen]");
const pane = document.getElementById(button?.getAttribute("aria-controls")) ?? document.scrollingElement;
const list = pane.querySelector('[id^="session-turns-"], [id^="session-events-"]');
const what = list?.id.split("-")[1].slice(0, -1); // turn or event
const order = (row) => Number(row?.dataset.order ?? -1);
const newest = () => order(list?.lastElementChild);
const following = () => button.ariaPressed == "true";
const isAtEnd = () => pane.scrollTop + pane.clientHeight > pane.scrollHeight - 4;
const opened = new WeakSet(); // rows in which the reader opened a detail
let counted = newest();
let unseen = 0;
let isMore = false; // some events were missed, so the count is a lower bound
let top = pane.scrollTop;
let listWindow;
let due;

function count() {
  const last = newest();
  for (let row = list?.lastElementChild; order(row) > counted; row = row.previousElementSibling) {
    const { order: at, after } = row.dataset;
    const above = Math.max(order(row.previousElementSibling), counted);
    unseen += after ? 1 : at - above;
    isMore ||= after > Math.max(above, 0);
  }
  if (last > counted && "window" in list.dataset) listWindow ??= import("./list_window.js");
  counted = Math.max(counted, last);
}

function keepUp() {
  due = 0;
  if (following()) pane.scrollTop = pane.scrollHeight;
  if (isAtEnd()) unseen = isMore = 0;
  top = pane.scrollTop;
  if (!pill) return;
  const text = unseen
    ? `${unseen.toLocaleString("en")}${isMore ? "+" : ""} new ${what}${unseen > 1 || isMore ? "s" : ""}`
    : "";
  pill.hidden = !text;
  if (pill.textContent != text) pill.textContent = text;
}

function refresh() {
  keepUp();
  listWindow?.then((it) => {
    it.update(opened);
    keepUp(); // before the scroll event of the shorter list is taken for the reader's
  });
}

function follow(on) {
  button.ariaPressed = on;
  keepUp();
}

if (button) {
  button.onclick = () => follow(!following());
  if (pill) pill.onclick = () => follow(true);
  addEventListener(
    "scroll",
    () => {
      if (pane.scrollTop < top && !isAtEnd()) button.ariaPressed = false;
      keepUp();
    },
    { capture: true, passive: true },
  );
  addEventListener("live:frame", () => {
    count();
    // Once per animation frame: reading the scroll position forces a layout.
    document.hidden ? refresh() : (due ||= requestAnimationFrame(refresh));
  });
  addEventListener("click", (event) => {
    opened.add(event.target.closest?.("summary")?.closest("[data-window] > *") ?? event);
    const link = event.target.closest?.("[data-gap] a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    (listWindow ??= import("./list_window.js")).then((it) => it.loadGap(link));
  });
  keepUp();
}
