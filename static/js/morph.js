// Puts what the socket sends into the page: every fragment is a whole panel, found by its id and morphed in place.
// What the reader opened, typed, selected or scrolled stays as it is.
const READERS = { dialog: "open", input: "value checked", textarea: "value", option: "selected" };
const touched = new WeakSet(); // details that the reader opened or closed
addEventListener("click", (event) => touched.add(event.target.closest?.("summary")?.parentElement ?? event));

const config = {
  ignoreActiveValue: true,
  callbacks: {
    beforeAttributeUpdated: (name, el) =>
      !(name == "open" && touched.has(el)) && !`${READERS[el.localName]} ${el.dataset.keep} ${el.dataset.keep && "data-keep"}`.split(" ").includes(name),
    beforeNodeMorphed(old, fresh) {
      if (old.nodeType != 3 || !fresh.data.startsWith(old.data)) return !old.hasAttribute?.("hx-preserve") && !old.hasAttribute?.("data-loaded");
      // Appending keeps a selection inside the text; setting it would not.
      old.appendData(fresh.data.slice(old.length));
      return false;
    },
  },
};

htmx.defineExtension("morph", {
  isInlineSwap: (style) => style == "morph",
  handleSwap: (style, old, fragment) => style == "morph" && Idiomorph.morph(old, fragment.firstElementChild, config),
});

// A panel that is new on the page names its container and its place in it.
function place(fresh) {
  const into = document.getElementById(fresh.dataset.into);
  let before = into?.lastElementChild;
  while (before && before.dataset.order - fresh.dataset.order > 0) before = before.previousElementSibling;
  before ? before.after(fresh) : into?.prepend(fresh);
}

function swap(fresh) {
  const old = document.getElementById(fresh.id);
  const how = fresh.getAttribute("hx-swap-oob");
  fresh.removeAttribute("hx-swap-oob");
  if (how == "delete") return old?.remove();
  if (old?.isEqualNode(fresh)) return;
  old ? Idiomorph.morph(old, fresh, config) : place(fresh);
  const shown = document.getElementById(fresh.id);
  if (shown) htmx.process(shown);
}

addEventListener("htmx:wsBeforeMessage", (event) => {
  const { message, socketWrapper } = event.detail;
  const [, number] = /^<!--frame (\d+)-->/.exec(message) ?? [];
  if (!number) return;
  event.preventDefault();
  const frame = document.createElement("template");
  if (!("paused" in document.body.dataset)) frame.innerHTML = message;
  for (const fresh of [...frame.content.children]) swap(fresh);
  socketWrapper.send(`{"ack":${number}}`);
  dispatchEvent(new Event("live:frame"));
});
