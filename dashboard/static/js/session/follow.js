// Follow ([data-follow]) keeps the newest turn or event in view and lets go at the first scroll upward; then
// [data-unseen] counts those that came in below. With the first of them comes what keeps the list small
// (list_window.js).
const button = document.querySelector("[data-follow]");
const pill = document.querySelector("[data-unseen]");
const pane = document.getElementById(button?.getAttribute("aria-controls")) ?? document.scrollingElement;
const list = pane.querySelector('[id^="session-turns-"], [id^="session-events-"]');
const order = (row) => Number(row?.dataset.order ?? -1);
const newest = () => order(list?.lastElementChild);
const following = () => button.ariaPressed == "true";
const isAtEnd = () => pane.scrollTop + pane.clientHeight > pane.scrollHeight - 4;
const opened = new WeakSet(); // rows in which the reader opened something
let counted = newest();
let unseen = 0;
let isMore = false; // than were told: events are not numbered
let top = pane.scrollTop;
let keeper;
let due;

function count() {
  const last = newest();
  for (let row = list?.lastElementChild; order(row) > counted; row = row.previousElementSibling) {
    const { order: at, after } = row.dataset;
    const above = Math.max(order(row.previousElementSibling), counted);
    unseen += after ? 1 : at - above;
    isMore ||= after > Math.max(above, 0);
  }
  if (last > counted && "window" in list.dataset) keeper ??= import("./list_window.js");
  counted = Math.max(counted, last);
}

function keepUp() {
  due = 0;
  if (following()) pane.scrollTop = pane.scrollHeight;
  if (isAtEnd()) unseen = isMore = 0;
  top = pane.scrollTop;
  if (!pill) return;
  const text = unseen ? `${unseen.toLocaleString("en")}${isMore ? "+" : ""} new` : "";
  pill.hidden = !text;
  if (pill.textContent != text) pill.textContent = text;
}

function look() {
  keepUp();
  keeper?.then((it) => {
    it.update(opened);
    keepUp(); // before a scroll event can take a list that became shorter for the reader's doing
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
    // Once for all frames that show together: where the pane stands is known only when it has been laid out.
    document.hidden ? look() : (due ||= requestAnimationFrame(look));
  });
  addEventListener("click", (event) => {
    opened.add(event.target.closest?.("summary")?.closest("[data-window] > *") ?? event);
    const link = event.target.closest?.("[data-gap] a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    (keeper ??= import("./list_window.js")).then((it) => it.bring(link));
  });
  keepUp();
}
