// Shows the attention count ([data-attention]) in the title and on the icon of the tab.
const icon = document.querySelector('link[rel="icon"]');
const plain = icon.href;
const name = document.title.replace(/^\(\d+\+?\) /, "");
let shown = "";
let svg;

function badge(count) {
  const font = 'font-family="sans-serif" font-weight="700" font-size="11"';
  const text = `<text x="16" y="20" text-anchor="middle" ${font} fill="#fff" stroke="none">`;
  const circle = '<circle cx="16" cy="16" r="8" fill="#7c3fc4" stroke="none"/>';
  return `${circle}${text}${count.length > 1 ? "9+" : count}</text></svg>`;
}

async function show() {
  const count = document.querySelector("[data-attention]")?.dataset.attention ?? "";
  if (count == shown) return;
  shown = count;
  document.title = count ? `(${count}) ${name}` : name;
  svg ??= await (await fetch(plain)).text();
  icon.href = shown ? `data:image/svg+xml,${encodeURIComponent(svg.replace("</svg>", badge(count)))}` : plain;
}

addEventListener("live:frame", show);
show();
