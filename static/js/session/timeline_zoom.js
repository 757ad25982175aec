// [data-timeline]: dragging across the lanes zooms to that part of the time axis. The attribute maps positions to
// seconds; the zoom opens a link.
const SVG = "http://www.w3.org/2000/svg";

function second(line, x) {
  const edges = line.dataset.timeline.split(" ").map((edge) => edge.split(":").map(Number));
  const n = Math.max(
    1,
    edges.findIndex(([at]) => at >= x),
  );
  const [[from, since], [to, until]] = [edges[n - 1], edges[n]];
  return since + (until - since) * (to > from ? (x - from) / (to - from) : 0);
}

addEventListener("pointerdown", (event) => {
  const lane = event.target.closest?.("[data-timeline] .waterfall-lane");
  if (!lane || event.button) return;
  const line = lane.closest("[data-timeline]");
  const box = lane.getBoundingClientRect();
  const place = (moved) => Math.min(Math.max((100 * (moved.clientX - box.left)) / box.width, 0), 100);
  const start = place(event);
  const pick = lane.appendChild(document.createElementNS(SVG, "svg"));
  pick.classList.add("waterfall-selection");
  const rect = pick.appendChild(document.createElementNS(SVG, "rect"));
  rect.setAttribute("height", "100%");
  lane.setPointerCapture(event.pointerId);
  lane.onpointermove = (moved) => {
    rect.setAttribute("x", `${Math.min(start, place(moved))}%`);
    rect.setAttribute("width", `${Math.abs(place(moved) - start)}%`);
  };
  lane.onpointerup = lane.onpointercancel = (last) => {
    lane.onpointermove = lane.onpointerup = lane.onpointercancel = null;
    pick.remove();
    const [from, to] = [start, place(last)].sort((a, b) => a - b).map((x) => second(line, x));
    if (last.type == "pointerup" && Math.abs(place(last) - start) > 1 && to > from)
      location.assign(line.dataset.zoom.replace("ZOOM", `${from.toFixed(3)}-${to.toFixed(3)}`));
    else if (last.type == "pointerup" && Math.abs(place(last) - start) <= 1)
      lane.closest(".waterfall-row").querySelector("a").click();
  };
});
