// `node:test` as the tests see it: the real one, with each test, suite and hook enclosed, so that
// it is known what belongs to which test.
import real from "node:test";
import { isProxy, isPromise } from "node:util/types";

import { Note, notes, WorkerLost } from "./notes.mjs";

const VARIANTS = ["skip", "todo", "only", "expectFailure"];
const now = performance.now.bind(performance);
const { setTimeout, clearTimeout } = globalThis;
const patched = new WeakSet();
const bound = { client: undefined, watched: undefined, waiting: undefined, suiteFailed() {}, seconds: 0 };

export function bindTests(parts) {
  Object.assign(bound, parts);
}

// Arguments of a registration with its function replaced.
function enclosed(values, enclose) {
  const at = values.findIndex((value) => typeof value === "function");
  if (at < 0) return [...values, enclose(() => {})];
  const made = enclose(values[at]);
  Object.defineProperty(made, "name", { value: values[at].name, configurable: true });
  return values.map((value, place) => (place === at ? made : value));
}

// A function of the same arity, since the runner calls those with two parameters in another way.
const likewise = (work, enclose) =>
  work.length > 1
    ? function (first, done) {
        return enclose(this, first, done);
      }
    : function (first) {
        return enclose(this, first);
      };

function test(work) {
  const suite = notes.names;
  return likewise(work, (self, context, done) => {
    patch(context);
    const names = [...suite, context.name];
    const note = new Note();
    return notes.within(names, note, () => run(work, self, context, done, note, names));
  });
}

function run(work, self, context, done, note, names) {
  begin(note);
  let isEnded = false;
  const end = () => {
    if (isEnded) return;
    isEnded = true;
    bound.watched.end(note);
    notes.end(note, names);
    if (!note.isClean) throw new Error(`the test can't be judged: ${note.reported.codes.join(", ")}`);
  };
  // Whoever waits for a test that its runner has given up, waits for nothing.
  context.signal?.addEventListener("abort", () => after(undefined));
  const after = (error) => {
    try {
      end();
    } catch (problem) {
      return error ?? problem;
    }
    return error;
  };
  let result;
  try {
    bound.client.revive();
    result = work.call(self, context, ...(done === undefined ? [] : [(e) => done(after(tellable(e)))]));
  } catch (error) {
    end();
    throw tellable(error);
  }
  if (isPromise(result) || typeof result?.then === "function") {
    const made = Promise.resolve(result).catch((error) => Promise.reject(tellable(error)));
    return inTime(note, made).finally(end);
  }
  if (done === undefined) end();
  return result;
}

// What the runner may look into: an object of the candidate's would be asked after the test.
function tellable(error) {
  return isProxy(error) ? new Error("an object of the candidate's was thrown") : error;
}

// Time of a test that gives back control to its runner; a request keeps to it by itself.
function begin(note) {
  notes.begin(note);
  bound.waiting.goOn();
  if (bound.seconds > 0) note.until = now() + bound.seconds * 1000;
}

function inTime(note, promise) {
  if (!note.until) return promise;
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      note.lost ||= "time";
      reject(new WorkerLost("time"));
    }, note.until - now());
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// What a suite's function registers belongs to the suite.
function suite(work) {
  const outer = notes.names;
  return likewise(work, (self, context, ...rest) => {
    const names = [...outer, context.name];
    try {
      const made = notes.within(names, null, () => work.call(self, context, ...rest));
      if (isPromise(made)) made.catch(bound.suiteFailed);
      return made;
    } catch (error) {
      // Its runner believes an error that calls itself one of a sub-test.
      bound.suiteFailed(error);
      throw error;
    }
  });
}

function hook(work) {
  return likewise(work, (self, context, done) => {
    if (context !== undefined && typeof context === "object") patch(context);
    bound.client.revive();
    notes.active++;
    const end = (error) => {
      notes.active--;
      return error;
    };
    let result;
    try {
      const rest = done === undefined ? [] : [(error) => done(end(error))];
      result = work.call(self, context, ...rest);
    } catch (error) {
      throw end(error);
    }
    if (isPromise(result)) return result.finally(end);
    if (done === undefined) end();
    return result;
  });
}

// A test's own means to register sub-tests and hooks.
function patch(context) {
  const proto = Object.getPrototypeOf(context);
  if (patched.has(proto)) return;
  patched.add(proto);
  const replace = (name, enclose) => {
    const original = proto[name];
    if (typeof original !== "function") return;
    proto[name] = function (...values) {
      return original.apply(this, enclosed(values, enclose));
    };
  };
  replace("test", test);
  for (const name of ["before", "after", "beforeEach", "afterEach"]) replace(name, hook);
}

function wrapped(original, enclose) {
  const made = function (...values) {
    return original.apply(this, enclosed(values, enclose));
  };
  for (const name of VARIANTS) {
    if (typeof original[name] === "function") {
      made[name] = (...values) => original[name](...enclosed(values, enclose));
    }
  }
  return made;
}

function refused() {
  throw bound.client.refuse("subprocess", true);
}

const exported = wrapped(real.test ?? real, test);
export const it = wrapped(real.it, test);
export const describe = wrapped(real.describe, suite);
const suite_ = wrapped(real.suite ?? real.describe, suite);
export const before = (...values) => real.before(...enclosed(values, hook));
export const after = (...values) => real.after(...enclosed(values, hook));
export const beforeEach = (...values) => real.beforeEach(...enclosed(values, hook));
export const afterEach = (...values) => real.afterEach(...enclosed(values, hook));
export const { skip, todo, only } = exported;
export const { mock, snapshot, assert } = real;
export { exported as test, refused as run, suite_ as suite };
Object.assign(exported, {
  ...{ test: exported, it, describe, suite: suite_, before, after, beforeEach, afterEach },
  ...{ run: refused, mock, snapshot, assert },
});
export default exported;
