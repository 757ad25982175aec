// Turns by key: [ and ] go to the turn before and after the one at the top of the pane.
const pane = document.querySelector("#loop-scroll");

function turn(step) {
  const top = pane.getBoundingClientRect().top;
  const heads = [...pane.querySelectorAll(".turn")].map((each) => [each, each.getBoundingClientRect().top - top]);
  const to = step > 0 ? heads.find(([, at]) => at > 1) : heads.findLast(([, at]) => at < -1);
  if (to) pane.scrollTop += to[1];
  return true;
}

addEventListener("key", (event) => {
  const act = { "[": () => turn(-1), "]": () => turn(1) }[event.detail];
  if (act && pane) event.preventDefault(act());
});
