"""What an open page shows once it has settled: the same as a reload, an element at rest."""

from tests.support.wait import until

# Returns where an element is once it stays there for ten frames: Chromium scrolls smoothly.
RESTING = """async (el) => {
  const top = () => el.getBoundingClientRect().top;
  for (let [last, same] = [top(), 0]; same < 10; ) {
    await new Promise((drawn) => requestAnimationFrame(drawn));
    same = top() === last ? same + 1 : 0;
    last = top();
  }
  return top();
}"""

MAIN = """() => {
  const main = document.querySelector("#main").cloneNode(true);
  main.querySelectorAll("time").forEach((time) => { time.textContent = ""; time.title = ""; });
  main.querySelectorAll("details").forEach((details) => details.removeAttribute("open"));
  main.querySelectorAll("[name=csrfmiddlewaretoken]").forEach((field) => field.remove());
  main.querySelectorAll("[class='']").forEach((el) => el.removeAttribute("class"));
  main.normalize();
  return main.innerHTML.replace(/\\s*(<[^>]*>)\\s*/g, "\\n$1");
}"""


def agrees(page, window) -> None:
    """Wait until the page equals a newly opened one."""
    fresh = window().open(page.url).evaluate(MAIN)
    until(
        lambda: page.evaluate(MAIN) == fresh,
        lambda: f"{page.evaluate(MAIN)}\n\nis not what a reload shows:\n\n{fresh}",
        pause=lambda seconds: page.wait_for_timeout(1000 * seconds),
    )
