// Follow ([data-follow]) keeps the newest turn in view and lets go at the first scroll upward; then [data-unseen]
// counts the turns that came in below.
const button = document.querySelector("[data-follow]");
const pill = document.querySelector("[data-unseen]");
const pane = document.getElementById(button?.getAttribute("aria-controls")) ?? document.scrollingElement;
const turns = () => pane.querySelectorAll('[data-into^="session-turns-"]').length;
const following = () => button.ariaPressed == "true";
const isAtEnd = () => pane.scrollTop + pane.clientHeight > pane.scrollHeight - 4;
let seen = turns();
let top = pane.scrollTop;

function keepUp() {
  if (following()) pane.scrollTop = pane.scrollHeight;
  if (isAtEnd()) seen = turns();
  top = pane.scrollTop;
  if (!pill) return;
  pill.hidden = turns() <= seen;
  pill.textContent = pill.hidden ? "" : `${turns() - seen} new`;
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
  addEventListener("live:frame", keepUp);
  keepUp();
}
