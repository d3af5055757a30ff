// Modules of the candidate that tests have loaded: what each exports, kept as it is over there.
import { WireFault } from "./frames.mjs";

const linked = new Map();
const failures = [];
let exchange;

export function bindLinks(bound) {
  exchange = bound;
}

// Source text of a module with the exports of the candidate's module of this URL.
export function sourceOf(key) {
  const own = JSON.stringify(import.meta.url);
  try {
    const exports = exchange.imported(key);
    const link = { values: exports.map(({ value }) => value), update() {} };
    linked.set(key, link);
    const names = exports.map(({ name }, at) => `e${at} as ${JSON.stringify(name)}`);
    const places = exports.map((_, at) => `e${at}`);
    const list = places.length === 0 ? "" : `let [${places.join(", ")}] = link.values;`;
    const cases = places.map((place, at) => `case ${at}: ${place} = value; break;`);
    return `import { linkOf } from ${own};
const link = linkOf(${JSON.stringify(key)});
${list}
link.update = (at, value) => { switch (at) { ${cases.join(" ")} } };
export { ${names.join(", ")} };`;
  } catch (error) {
    failures.push(error);
    return `import { fail } from ${own}; fail(${failures.length - 1});`;
  }
}

// For the modules that `sourceOf` writes.
export const linkOf = (key) => linked.get(key);
export function fail(number) {
  throw failures[number];
}

// What `require` of the candidate's module gives.
export function required(path) {
  if (!linked.has(path)) {
    linked.set(path, { values: [exchange.required(path)], isRequired: true });
  }
  return linked.get(path).values[0];
}

// Exports that changed, as the worker tells them; throws WireFault.
export function exported(changes) {
  if (!Array.isArray(changes)) throw new WireFault("no list of exports");
  for (const change of changes) {
    const link = Array.isArray(change) && change.length === 3 ? linked.get(change[0]) : undefined;
    const isKnown = link !== undefined && !link.isRequired && Number.isSafeInteger(change[1]);
    if (!isKnown || change[1] < 0 || change[1] >= link.values.length) {
      throw new WireFault("an export that is none");
    }
    set(link, change[1], exchange.exported(link.values[change[1]], change[2]));
  }
}

// Loads the module again whose export a value is, in a worker that has not loaded it; whether
// there is such a module.
export function loadAgain(value) {
  const found = [...linked].find(([, link]) => link.values.includes(value));
  if (found === undefined) return false;
  const [key, link] = found;
  if (link.isRequired) exchange.required(key, value);
  else {
    const exports = exchange.imported(key, link.values);
    exports.forEach((made, at) => at < link.values.length && set(link, at, made.value));
  }
  return true;
}

function set(link, at, value) {
  link.values[at] = value;
  link.update(at, value);
}
