// The loader's hooks, for `import`. Where the loader has them in a thread of its own, that thread
// asks the main one, which alone speaks to the worker.
import { Resolution } from "./resolution.mjs";

const REFUSED = "assay-refused:";

let resolution;
let port;
let asked = 0;
let refusals = 0;
const waiting = new Map();

// In the loader's own thread.
export function initialize({ paths, channel }) {
  resolution = new Resolution(paths);
  port = channel;
  port.on("message", ({ number, source }) => {
    waiting.get(number)(source);
    waiting.delete(number);
  });
}

export async function resolve(specifier, context, next) {
  const found = decided(specifier, context);
  if (found !== undefined) return found;
  try {
    return allowed(await next(specifier, context));
  } catch (error) {
    return candidatesBehind(error);
  }
}

export async function load(url, context, next) {
  const question = questionOf(url);
  if (question === undefined) return next(url, context);
  const number = ++asked;
  const source = await new Promise((answer) => {
    waiting.set(number, answer);
    port.postMessage({ number, question });
  });
  return { format: "module", source, shortCircuit: true };
}

// In the main thread, for a loader without one of its own.
export function hooksHere(paths, answer) {
  resolution = new Resolution(paths);
  return {
    resolve(specifier, context, next) {
      const found = decided(specifier, context);
      if (found !== undefined) return found;
      try {
        return allowed(next(specifier, context));
      } catch (error) {
        return candidatesBehind(error);
      }
    },
    load(url, context, next) {
      const question = questionOf(url);
      if (question === undefined) return next(url, context);
      return { format: "module", source: answer(question), shortCircuit: true };
    },
  };
}

function decided(specifier, { parentURL }) {
  if (specifier.startsWith(REFUSED)) return undefined;
  const { url, refused } = resolution.imported(specifier, parentURL);
  if (refused !== undefined) return refusal(refused);
  return url === undefined ? undefined : { url, format: "module", shortCircuit: true };
}

// A name of the tree's package.json may lead to a file that only the candidate's tree has.
function candidatesBehind(error) {
  const { code, url } = error;
  const isMissing = code === "ERR_MODULE_NOT_FOUND" && typeof url === "string";
  if (!isMissing || !resolution.isCandidates(url)) throw error;
  return { url, format: "module", shortCircuit: true };
}

function allowed(found) {
  if (resolution.isAllowed(found.url) || found.url.startsWith("file:///assay/")) return found;
  return refusal("code");
}

// Each has a place of its own, since what has been loaded is not loaded again.
function refusal(code) {
  return { url: `${REFUSED}${code}#${++refusals}`, format: "module", shortCircuit: true };
}

// What the main thread has to say what a module is: a refusal's code, or the candidate's URL.
function questionOf(url) {
  if (url.startsWith(REFUSED)) return { refused: url.slice(REFUSED.length).split("#")[0] };
  if (url.startsWith("file:") && resolution.isCandidates(url)) return { url };
  return undefined;
}
