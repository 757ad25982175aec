// Keeps the count of what asks for the reader ([data-attention]) in the title and on the icon of the tab.
const icon = document.querySelector('link[rel="icon"]');
const plain = icon.href;
const name = document.title.replace(/^\(\d+\+?\) /, "");
let shown = "";
let svg;

async function show() {
  const count = document.querySelector("[data-attention]")?.dataset.attention ?? "";
  if (count == shown) return;
  shown = count;
  document.title = count ? `(${count}) ${name}` : name;
  svg ??= await (await fetch(plain)).text();
  const mark = `<circle cx="16" cy="16" r="8" fill="#7c3fc4" stroke="none"/><text x="16" y="20" text-anchor="middle" font-family="sans-serif" font-weight="700" font-size="11" fill="#fff" stroke="none">${count.length > 1 ? "9+" : count}</text></svg>`;
  icon.href = shown ? `data:image/svg+xml,${encodeURIComponent(svg.replace("</svg>", mark))}` : plain;
}

addEventListener("live:frame", show);
show();
