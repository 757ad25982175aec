// What every page has: copy buttons, the theme and the navigation, cut text. One file: each costs a request.
// [data-copy] copies its value, or with an empty value the text of the <code> around it, and confirms it for 2 s.
addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy]");
  if (!button) return;
  const source = button.parentElement.closest("[data-copy-from]")?.querySelector("code");
  try {
    await navigator.clipboard.writeText(button.dataset.copy || source.textContent);
  } catch {
    return getSelection().selectAllChildren(source ?? button); // no clipboard without TLS: select the text instead
  }
  const word = button.querySelector("span");
  if ("copied" in button.dataset) return;
  const before = word?.textContent;
  button.dataset.copied = "";
  if (word) word.textContent = "Copied";
  setTimeout(() => {
    delete button.dataset.copied;
    if (word) word.textContent = before;
  }, 2000);
});

// Applies theme and collapsed navigation at once; the form's POST stores them. Without this script the page reloads.
const root = document.documentElement;

addEventListener("submit", (event) => {
  const form = event.target.closest("[data-appearance]");
  if (!form) return;
  event.preventDefault();
  const dark = root.dataset.theme ? root.dataset.theme == "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const [name, value] = form.nav
    ? ["nav", root.dataset.nav == "rail" ? "full" : "rail"]
    : ["theme", dark ? "light" : "dark"];
  root.dataset[name] = form[name].value = value;
  fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
});

// Truncated text (.clip) gets its full text as title on hover. A row of links that overflows is scrolled to the current
// link where the style sheet alone cannot do it.
if (!CSS.supports("scroll-initial-target", "nearest")) {
  for (const strip of document.querySelectorAll(".tabs")) {
    const current = strip.querySelector('[aria-current], [aria-selected="true"]')?.getBoundingClientRect();
    const room = strip.getBoundingClientRect();
    if (current) strip.scrollLeft += current.x - room.x + (current.width - room.width) / 2;
  }
}

addEventListener("pointerover", ({ target }) => {
  const cut = target.closest?.(".clip");
  if (cut && cut.scrollWidth > cut.clientWidth && !cut.closest("[title]"))
    cut.title = cut.innerText.trim().slice(0, 500);
});
