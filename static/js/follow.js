// Follow ([data-follow]) keeps the newest turn in view and lets go at the first scroll upward; then [data-unseen]
// counts the turns that came in below.
const button = document.querySelector("[data-follow]");
const pill = document.querySelector("[data-unseen]");
const pane = document.getElementById(button?.getAttribute("aria-controls")) ?? document.scrollingElement;
const list = pane.querySelector('[id^="session-turns-"]');
const newest = () => Number(list?.lastElementChild?.dataset.order ?? -1);
const following = () => button.ariaPressed == "true";
const isAtEnd = () => pane.scrollTop + pane.clientHeight > pane.scrollHeight - 4;
let seen = newest();
let top = pane.scrollTop;
let due;

function keepUp() {
  due = 0;
  if (following()) pane.scrollTop = pane.scrollHeight;
  if (isAtEnd()) seen = newest();
  top = pane.scrollTop;
  if (!pill) return;
  const text = newest() > seen ? `${newest() - seen} new` : "";
  pill.hidden = !text;
  if (pill.textContent != text) pill.textContent = text;
}

function follow(on) {
  button.ariaPressed = on;
  keepUp();
}

if (button) {
  button.onclick = () => follow(!following());
  if (pill) pill.onclick = () => follow(true);
  addEventListener("scroll", () => {
    if (pane.scrollTop < top && !isAtEnd()) button.ariaPressed = false;
    keepUp();
  }, { capture: true, passive: true });
  // Once for all frames that show together: where the pane stands is known only when it has been laid out.
  addEventListener("live:frame", () => (due ||= requestAnimationFrame(keepUp)));
  keepUp();
}
