// [data-tree]: one stop for Tab, arrow keys within, as the ARIA tree pattern says. Links stay links.
(() => {
  const tree = document.querySelector("#loops");
  if (!tree) return;
  const items = () => [...tree.querySelectorAll('[role="treeitem"]')].filter((item) => item.offsetParent);
  const link = (item) => item.querySelector("a.tr-a");
  const parent = (item) => tree.querySelector(`[aria-owns="${item.closest("ul").id}"]`) ?? item.closest(".par")?.querySelector(".par-h");
  let typed = "";
  let typedAt = 0;

  const ready = () => {
    const list = tree.querySelector("[data-tree]");
    if (!list) return;
    list.tabIndex = -1;
    const all = items();
    const current = all.find((item) => item.tabIndex === 0) ?? tree.querySelector('[aria-selected="true"]') ?? all[0];
    for (const item of all) {
      item.tabIndex = item === current ? 0 : -1;
      item.dataset.keep = "tabindex aria-expanded";
      for (const a of item.querySelectorAll("a")) a.tabIndex = -1;
    }
  };
  const go = (item) => {
    if (!item) return;
    for (const other of items()) other.tabIndex = other === item ? 0 : -1;
    item.focus();
    item.scrollIntoView({ block: "nearest" });
  };
  const fold = (item, open) => {
    if (!item.hasAttribute("aria-expanded") || (item.getAttribute("aria-expanded") === "true") === open) return false;
    item.setAttribute("aria-expanded", open);
    return true;
  };
  const find = (key, item) => {
    const now = Date.now();
    typed = now - typedAt < 700 ? typed + key : key;
    typedAt = now;
    const all = items();
    const from = all.indexOf(item) + (typed.length === 1 ? 1 : 0);
    const ring = [...all.slice(from), ...all.slice(0, from)];
    return ring.find((each) => link(each)?.textContent.trim().toLowerCase().startsWith(typed));
  };

  tree.addEventListener("keydown", (event) => {
    const item = event.target.closest('[role="treeitem"]');
    if (!item || event.target !== item || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = items();
    const at = all.indexOf(item);
    const keys = {
      ArrowDown: () => go(all[at + 1]),
      ArrowUp: () => go(all[at - 1]),
      Home: () => go(all[0]),
      End: () => go(all.at(-1)),
      ArrowRight: () => fold(item, true) || (item.hasAttribute("aria-expanded") && go(all[at + 1])),
      ArrowLeft: () => fold(item, false) || go(parent(item)),
      Enter: () => link(item)?.click(),
      " ": () => link(item)?.click(),
    };
    const act = keys[event.key] ?? (/^\S$/.test(event.key) && (() => go(find(event.key.toLowerCase(), item))));
    if (!act) return;
    event.preventDefault();
    act();
  });
  document.addEventListener("live:frame", ready);
  ready();
  tree.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
})();
