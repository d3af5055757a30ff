// Ways from candidate text to code in the driver, closed; and what a test does to its own process,
// which would not reach the candidate.
import process from "node:process";
import timers from "node:timers";

const REPLACED = [
  ...["Date", "Math", "JSON", "Promise", "Map", "Set", "Array", "Object", "Error"],
  ...["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "fetch", "performance"],
].map((name) => [globalThis, name]);
REPLACED.push([Date, "now"], [Math, "random"], [performance, "now"], [timers, "setTimeout"]);
for (const name of ["log", "info", "warn", "error", "debug", "table", "dir", "trace"]) {
  REPLACED.push([console, name]);
}

// From now on no text becomes code. `code` is what V8 itself holds back, by an option; here it is
// noted too.
export function closeCodePaths(client) {
  const refuse = () => {
    throw client.refuse("code", true);
  };
  globalThis.eval = refuse;
  globalThis.Function = new Proxy(Function, { apply: refuse, construct: refuse });
  closeWebAssembly(refuse);
  const refuseState = () => {
    throw client.refuse("process-state", true);
  };
  process.chdir = refuseState;
  process.env = new Proxy(process.env, {
    set: refuseState,
    defineProperty: refuseState,
    deleteProperty: refuseState,
  });
}

// Node itself has parts in WebAssembly, which it may start at any time.
function closeWebAssembly(refuse) {
  const isNodes = () => /^\s+at (?:[^(]*\()?node:/.test(new Error().stack?.split("\n")[3] ?? "");
  for (const name of ["Module", "Instance", "compile", "instantiate"]) {
    const original = WebAssembly[name];
    WebAssembly[name] = new Proxy(original, {
      apply: (_, self, values) => (isNodes() ? Reflect.apply(original, self, values) : refuse()),
      construct: (_, values) => (isNodes() ? new original(...values) : refuse()),
    });
  }
}

// A check, for before each request, that nothing is replaced that the candidate has its own of.
export function processCheck(client) {
  const originals = REPLACED.filter(([holder, name]) => name in holder).map(([holder, name]) => ({
    holder,
    name,
    original: holder[name],
  }));
  return () => {
    for (const { holder, name, original } of originals) {
      if (holder[name] !== original) throw client.refuse("process-state", true);
    }
  };
}
