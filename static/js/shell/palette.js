// The command palette, loaded on first use. The server renders its results as on the search page.
import { element, modal } from "./dialog.js";

let opened;

export function open(url, press) {
  if (document.querySelector("dialog[open]")) return;
  opened ??= document.body.appendChild(palette(url, press));
  opened.showModal();
}

function palette(url, press) {
  const input = element("input", {
    type: "text",
    enterKeyHint: "search",
    maxLength: 200,
    placeholder: "Search, or go anywhere",
    ariaLabel: "Search, or go anywhere",
    role: "combobox",
    ariaExpanded: "true",
    ariaAutoComplete: "list",
    autocomplete: "off",
  });
  const list = element("div", {
    id: "palette-found",
    className: "menu",
    role: "listbox",
    ariaLabel: "Results",
    ariaBusy: "true",
  });
  input.setAttribute("aria-controls", list.id);
  const dialog = modal(
    "Search",
    element("div", { className: "palette-header" }, input, element("kbd", { textContent: "esc" })),
    list,
  );
  const options = () => [...list.querySelectorAll('[role="option"]')];
  let latest = 0;
  let soon, isEntered; // Enter was pressed before the results of what is typed had come

  function choose(option) {
    for (const each of options()) each.ariaSelected = String(each == option);
    input.setAttribute("aria-activedescendant", option?.id ?? "");
    option?.scrollIntoView({ block: "nearest" });
  }

  async function search() {
    const mine = ++latest;
    list.ariaBusy = "true";
    try {
      const answer = await fetch(`${url}?${new URLSearchParams({ q: input.value.trim() })}`, {
        headers: { "HX-Request": "true" },
      });
      const html = answer.ok && !answer.redirected ? await answer.text() : "";
      if (mine != latest) return;
      if (!html) throw new Error(answer.status);
      list.innerHTML = html;
    } catch {
      if (mine != latest) return;
      list.replaceChildren(element("p", { className: "nav-empty", textContent: "Search failed. Type to try again." }));
    }
    list.ariaBusy = "false";
    choose(options()[0]);
    if (isEntered) options()[0]?.click();
  }

  input.addEventListener("input", () => {
    clearTimeout(soon);
    latest++; // results of what was typed before are not shown
    isEntered = false;
    list.ariaBusy = "true";
    soon = setTimeout(search, 80);
  });
  input.addEventListener("keydown", (event) => {
    const all = options();
    const at = all.findIndex((each) => each.ariaSelected == "true");
    const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length, Enter: at }[event.key];
    if (to == null || event.isComposing) return;
    event.preventDefault();
    if (event.key != "Enter") choose(all[to]);
    else if (list.ariaBusy == "true") isEntered = true;
    else all[at]?.click();
  });
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[data-press-key]");
    if (!option) return;
    dialog.close();
    press(option.dataset.pressKey);
  });
  dialog.addEventListener("close", () => {
    input.value = "";
    isEntered = false;
  });
  const show = dialog.showModal.bind(dialog);
  dialog.showModal = () => {
    show();
    search();
  };
  return dialog;
}
