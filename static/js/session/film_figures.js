// The figures of the film in the page: a line of JSON, then one a call with fields between "|".
export let figures = { text: "", loops: [], words: [], calls: [] };

export function read() {
  const text = document.querySelector("[data-film-figures]")?.textContent ?? "";
  if (text && text != figures.text) {
    const [about, ...calls] = text.split("\n");
    figures = { text, ...JSON.parse(about), calls: calls.map((call) => call.split("|")) };
  }
  return figures.calls;
}

export const written = (field) => (/^\d+$/.test(field) ? Number(field).toLocaleString("en-US") : field);
