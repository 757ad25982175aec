// The dialog with all keyboard shortcuts, loaded on first use.
import { element, modal } from "./dialog.js";
import { keys } from "./keys.js";

const WORDS = {
  Mod: navigator.platform.startsWith("Mac") ? "⌘" : "Ctrl",
  Enter: "⏎",
  ArrowLeft: "←",
  ArrowRight: "→",
  Shift: "⇧",
};
let help;

export function open() {
  if (document.querySelector("dialog[open]")) return;
  help ??= document.body.appendChild(sheet());
  help.showModal();
}

function sheet() {
  const groups = new Map();
  for (const row of keys()) groups.set(row[0], [...(groups.get(row[0]) ?? []), row]);
  const parts = [...groups].map(([group, rows]) =>
    element(
      "section",
      {},
      element("h3", { textContent: group }),
      element("dl", { className: "keys-list text-small" }, ...rows.map(line)),
    ),
  );
  const close = element("button", {
    className: "button button-small",
    type: "button",
    textContent: "Close",
    onclick: () => dialog.close(),
  });
  const off =
    document.documentElement.dataset.keys == "off" &&
    element("p", { className: "note", textContent: "Keyboard shortcuts are switched off in Settings." });
  const head = element(
    "header",
    { className: "palette-header" },
    element("h2", { textContent: "Keyboard shortcuts" }),
    close,
  );
  const body = element(
    "div",
    { className: "keys-sheet", tabIndex: 0, role: "region", ariaLabel: "Keyboard shortcuts" },
    ...(off ? [off] : []),
    ...parts,
  );
  const dialog = modal("Keyboard shortcuts", head, body);
  return dialog;
}

function line([, key, words]) {
  const caps = key.split(/[ +](?=.)/).map((part) => element("kbd", { textContent: WORDS[part] ?? part }));
  const keys = element("dd", {}, ...caps);
  keys.dataset.of = key;
  return element("div", {}, element("dt", { textContent: words }), keys);
}
