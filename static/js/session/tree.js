// [data-tree]: one stop for Tab, arrow keys within, as the ARIA tree pattern says; j k h l from anywhere. Links stay
// links.
(() => {
  const tree = document.querySelector("#loops");
  if (!tree) return;
  // Visibility by markup: reading the box of an element would force a layout.
  const items = () =>
    [...tree.querySelectorAll('[role="treeitem"]')].filter((item) => !item.matches('[aria-expanded="false"] ~ ul *'));
  const link = (item) => item.querySelector("a.tree-link");
  const parent = (item) =>
    tree.querySelector(`[aria-owns="${item.closest("ul").id}"]`) ??
    item.closest(".parallel-group")?.querySelector(".parallel-header");
  const current = () => tree.querySelector('[role="treeitem"][tabindex="0"]');
  let typed = "";
  let typedAt = 0;

  const ready = () => {
    const list = tree.querySelector("[data-tree]");
    if (!list) return;
    list.tabIndex = -1;
    const all = items();
    const stop = all.find((item) => item.tabIndex === 0) ?? tree.querySelector('[aria-selected="true"]') ?? all[0];
    for (const item of all) {
      if (item !== stop || item.tabIndex) item.tabIndex = item === stop ? 0 : -1;
      item.dataset.keep = "tabindex aria-expanded";
      for (const a of item.querySelectorAll(':is(a, input):not([tabindex="-1"])')) {
        a.tabIndex = -1;
        a.dataset.keep = "tabindex";
      }
    }
  };
  const go = (item) => {
    if (!item) return;
    if (current()) current().tabIndex = -1;
    item.tabIndex = 0;
    item.focus();
    item.scrollIntoView({ block: "nearest" });
  };
  const step = (item, by) => {
    const all = items();
    go(all[all.indexOf(item) + by]);
  };
  const fold = (item, open) => {
    if (!item.ariaExpanded || item.ariaExpanded === String(open)) return false;
    item.ariaExpanded = open;
    return true;
  };
  const find = (key, item) => {
    typed = Date.now() - typedAt < 700 ? typed + key : key;
    typedAt = Date.now();
    const all = items();
    const from = all.indexOf(item) + (typed.length === 1 ? 1 : 0);
    const ring = [...all.slice(from), ...all.slice(0, from)];
    go(ring.find((each) => link(each)?.textContent.trim().toLowerCase().startsWith(typed)));
  };

  const keys = {
    ArrowDown: (item) => step(item, 1),
    ArrowUp: (item) => step(item, -1),
    Home: () => go(items()[0]),
    End: () => go(items().at(-1)),
    ArrowRight: (item) => fold(item, true) || (item.ariaExpanded && step(item, 1)),
    ArrowLeft: (item) => fold(item, false) || go(parent(item)),
    Enter: (item) => link(item)?.click(),
    " ": (item) => link(item)?.click(),
  };
  const letters = { j: keys.ArrowDown, k: keys.ArrowUp, h: keys.ArrowLeft, l: keys.ArrowRight };

  const isAt = (event) =>
    event.target.closest?.('[role="treeitem"]') === event.target && !event.ctrlKey && !event.metaKey && !event.altKey;
  const type = (event) => {
    event.preventDefault();
    find(event.key.toLowerCase(), event.target);
  };
  const isLetter = (event) => /^\S$/.test(event.key) && tree.contains(event.target) && isAt(event);
  tree.addEventListener("keydown", (event) => {
    if (!isAt(event)) return;
    if (/^\S$/.test(event.key) && typed && Date.now() - typedAt < 700) return type(event);
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key](event.target);
  });
  // A letter that is no shortcut starts a type-ahead search. The listener of shortcuts may come after this one.
  addEventListener("keydown", (event) => isLetter(event) && setTimeout(() => event.defaultPrevented || type(event)));
  addEventListener("key", (event) => {
    if (!letters[event.detail] || !current()) return;
    event.preventDefault();
    // The first press from elsewhere continues at the selected loop.
    letters[event.detail](current());
  });
  const isNew = ({ addedNodes }) => [...addedNodes].some((node) => node.nodeType == 1);
  new MutationObserver((records) => records.some(isNew) && ready()).observe(tree, { childList: true, subtree: true });
  ready();
  // scrollIntoView would also scroll the panes of a narrow screen, away from the conversation.
  const list = tree.querySelector("[data-tree]")?.getBoundingClientRect();
  const selected = tree.querySelector('[aria-selected="true"]')?.getBoundingClientRect();
  if (selected && selected.bottom > list.bottom)
    tree.querySelector("[data-tree]").scrollTop = selected.top - list.top - list.height / 2;
})();
