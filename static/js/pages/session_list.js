// The list of sessions: l pauses ([data-pause]); Escape leaves the search field.
addEventListener("keydown", (event) => {
  if (event.key == "Escape" && !event.defaultPrevented && event.target.matches("[type=search]")) event.target.blur();
});

addEventListener("click", (event) => {
  const button = event.target.closest("[data-pause]");
  if (!button) return;
  button.ariaPressed = String(document.body.toggleAttribute("data-paused"));
  button.querySelector("span").textContent = button.ariaPressed == "true" ? "Paused" : "Live";
  button.querySelector(".dot").className = `dot dot-${button.ariaPressed == "true" ? "off" : "live"}`;
  dispatchEvent(new CustomEvent("live:pause", { detail: button.ariaPressed == "true" }));
});
