// The palette and the sheet of keys, loaded when first asked for. Results come from the server as they stand on its page.
const WORDS = { Mod: navigator.platform.startsWith("Mac") ? "⌘" : "Ctrl", Enter: "⏎", ArrowLeft: "←", ArrowRight: "→", Shift: "⇧" };
const dialogs = {};

const element = (tag, properties, ...inside) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...inside);
  return made;
};

export function open(opener, keys, press) {
  const kind = opener.dataset.dialog;
  if (document.querySelector("dialog[open]")) return;
  const dialog = (dialogs[kind] ??= document.body.appendChild(kind == "keys" ? sheet(keys) : palette(opener.href, press)));
  dialog.showModal();
}

function shell(label, ...inside) {
  const dialog = element("dialog", { className: "palette", ariaLabel: label }, ...inside);
  dialog.addEventListener("click", (event) => event.target == dialog && dialog.close());
  return dialog;
}

function sheet(keys) {
  const groups = new Map();
  for (const row of keys) groups.set(row[0], [...(groups.get(row[0]) ?? []), row]);
  const parts = [...groups].map(([group, rows]) =>
    element("section", {}, element("h3", { textContent: group }), element("dl", { className: "keys sm" }, ...rows.map(line))));
  const close = element("button", { className: "btn btn-s", type: "button", textContent: "Close", onclick: () => dialog.close() });
  const off = document.documentElement.dataset.keys == "off" && element("p", { className: "note", textContent: "Single keys are switched off in Settings." });
  const head = element("header", { className: "palette-in" }, element("h2", { textContent: "Keys" }), close);
  const body = element("div", { className: "sheet", tabIndex: 0, role: "region", ariaLabel: "Keys" }, ...(off ? [off] : []), ...parts);
  const dialog = shell("Keys", head, body);
  return dialog;
}

function line([, key, words]) {
  const caps = key.split(/[ +](?=.)/).map((part) => element("kbd", { textContent: WORDS[part] ?? part }));
  const said = element("dd", {}, ...caps);
  said.dataset.of = key;
  return element("div", {}, element("dt", { textContent: words }), said);
}

function palette(url, press) {
  const input = element("input", { type: "text", enterKeyHint: "search", maxLength: 200, placeholder: "Search, or go anywhere", ariaLabel: "Search, or go anywhere", role: "combobox", ariaExpanded: "true", ariaAutoComplete: "list", autocomplete: "off" });
  const list = element("div", { id: "palette-found", className: "menu", role: "listbox", ariaLabel: "Results", ariaBusy: "true" });
  input.setAttribute("aria-controls", list.id);
  const dialog = shell("Search", element("div", { className: "palette-in" }, input, element("kbd", { textContent: "esc" })), list);
  const options = () => [...list.querySelectorAll('[role="option"]')];
  let asked = 0;
  let soon;

  function choose(option) {
    for (const each of options()) each.ariaSelected = String(each == option);
    input.setAttribute("aria-activedescendant", option?.id ?? "");
    option?.scrollIntoView({ block: "nearest" });
  }

  async function ask() {
    const mine = ++asked;
    list.ariaBusy = "true";
    try {
      const answer = await fetch(`${url}?${new URLSearchParams({ q: input.value.trim() })}`, { headers: { "HX-Request": "true" } });
      const html = answer.ok && !answer.redirected ? await answer.text() : "";
      if (mine != asked) return;
      if (!html) throw new Error(answer.status);
      list.innerHTML = html;
    } catch {
      if (mine != asked) return;
      list.replaceChildren(element("p", { className: "nav-none", textContent: "The search did not answer. Type on to try again." }));
    }
    list.ariaBusy = "false";
    choose(options()[0]);
  }

  input.addEventListener("input", () => {
    clearTimeout(soon);
    soon = setTimeout(ask, 80);
  });
  input.addEventListener("keydown", (event) => {
    const all = options();
    const at = all.findIndex((each) => each.ariaSelected == "true");
    const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length, Enter: at }[event.key];
    if (to == null || event.isComposing) return;
    event.preventDefault();
    event.key == "Enter" ? all[at]?.click() : choose(all[to]);
  });
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[data-press]");
    if (!option) return;
    dialog.close();
    press(option.dataset.press);
  });
  dialog.addEventListener("close", () => {
    input.value = "";
  });
  const show = dialog.showModal.bind(dialog);
  dialog.showModal = () => {
    show();
    ask();
  };
  return dialog;
}
