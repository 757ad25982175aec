// Terms of a query as chips. Only what must hold as a whole becomes chips: with OR or parentheses all stays text.
// The server's parser decides what a query means; here conditions are separated from words, unchecked.
const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
const KEY = String.raw`([A-Za-z][\w-]*(?:\.(?:${QUOTED}|[^\s:()"]+))?)`;
const VALUE = String.raw`((?:[<>]=?)?(?:${QUOTED}\*?|\[[^\]]*\]|[^\s()"[]+))`;
const CONDITION = new RegExp(String.raw`([-!]?)${KEY}:(?!//)${VALUE}(?=\s|$)`, "y");
const WORD = new RegExp(String.raw`${QUOTED}\*?|\S+`, "y");
const SPACE = /\s*/y;
const OPERATOR = /^(?:OR|AND|NOT|[-!]?\(.*|.*\))$/;

const match = (pattern, text, at) => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};

// Return the conditions of a query and its words: {chips: [{text, not, key, value}], words}.
export function split(text) {
  const chips = [];
  const words = [];
  for (let at = match(SPACE, text, 0)[0].length; at < text.length; at += match(SPACE, text, at)[0].length) {
    const found = match(CONDITION, text, at);
    if (found) chips.push({ text: found[0], not: Boolean(found[1]), key: found[2], value: found[3] });
    else words.push(match(WORD, text, at)?.[0] ?? text.slice(at));
    at += (found?.[0] ?? words.at(-1)).length;
  }
  if (words.some((word) => OPERATOR.test(word))) return { chips: [], words: text.trim() };
  return { chips, words: words.join(" ") };
}

export const join = (chips, words) => [...chips.map((chip) => chip.text), words.trim()].filter(Boolean).join(" ");
