// The process that imports the candidate and answers calls; it knows no test.
//
// Whatever it says is the candidate's word: it may be hostile from its first import on. What it
// must not do is fail an honest candidate, even one that changes what the language brings along.
import { createRequire } from "node:module";
import process from "node:process";

import { Borrower } from "./borrowed.mjs";
import { changed, held, takeOver } from "./changes.mjs";
import { LiveExports } from "./exports.mjs";
import { FrameStream, parsed, WireFault } from "./frames.mjs";
import { Scope } from "./kinds.mjs";
import { Loop } from "./loop.mjs";
import { Objects, prototypeOf } from "./objects.mjs";
import * as p from "./primordials.mjs";
import * as words from "./words.mjs";

const config = p.parse(process.env.ASSAY_WORKER_CONFIG);
const stream = new FrameStream(Number(process.env.ASSAY_CHANNEL_WIRE));
delete process.env.ASSAY_WORKER_CONFIG;
delete process.env.ASSAY_CHANNEL_WIRE;
process.argv.length = 1;

const exit = process.reallyExit.bind(process);
const require = createRequire("/workspace/");
const loop = new Loop();
const borrower = new Borrower(ask);
const objects = new Objects(
  config.nan,
  (promise, number) => loop.watch(promise, number),
  (payload, decoder) => borrower.make(payload, decoder),
);
const live = new LiveExports(objects);
let asked = 0;

const valueOf = (tree, scope) => objects.decoder(scope).value(tree);

// Each gives the tree of its answer.
const OPERATIONS = {
  __proto__: null,
  [words.REQUIRE]: (scope, path) => objects.reference(require(path), scope),
  [words.GET](scope, target, key) {
    return objects.tree(valueOf(target, scope)[valueOf(key, scope)], scope);
  },
  [words.OWN]: (scope, target) => own(valueOf(target, scope), scope),
  [words.KEYS](scope, target) {
    const keys = [];
    for (let holder = valueOf(target, scope); holder !== null; holder = prototypeOf(holder)) {
      const found = p.ownKeys(holder);
      for (let at = 0; at < found.length; at++) {
        keys[keys.length] = objects.encoder(scope).tree(found[at]);
      }
    }
    return keys;
  },
  [words.PARENT]: (scope, target) => objects.reference(prototypeOf(valueOf(target, scope)), scope),
  [words.PROTO](scope, target) {
    return objects.prototype(valueOf(target, scope), objects.encoder(scope), true);
  },
  [words.SETTLE](scope, token, isFulfilled, value) {
    borrower.settle(token, isFulfilled, valueOf(value, scope));
    return null;
  },
};

// What an object holds itself: key, whether it is listed, and its value unless that is computed.
function own(value, scope) {
  const keys = p.ownKeys(value);
  const parts = [];
  for (let at = 0; at < keys.length; at++) {
    const found = p.descriptorOf(value, keys[at]);
    if (found === undefined) continue;
    const key = objects.encoder(scope).tree(keys[at]);
    const data = "value" in found ? [objects.tree(found.value, scope)] : [];
    parts[parts.length] = [key, found.enumerable, data];
  }
  return parts;
}

// An answer without its number: word, tree, and what became of the objects that came along.
function answered(word, parts) {
  const scope = new Scope();
  try {
    if (word === words.CALL || word === words.NEW) return called(word, scope, parts);
    return [words.OK, p.apply(OPERATIONS[word], undefined, [scope, ...parts]), []];
  } catch (error) {
    return failed(error, scope);
  }
}

function failed(error, scope) {
  if (error instanceof WireFault) return [words.REFUSED, error.message, []];
  try {
    return [words.RAISE, objects.tree(error, scope), []];
  } catch (fault) {
    return [words.REFUSED, `${fault.message}`, []];
  }
}

function called(word, scope, parts) {
  const decoder = objects.decoder(scope);
  const target = decoder.value(parts[0]);
  const receiver = decoder.value(parts[1]);
  const values = [];
  for (let at = 0; at < parts[2].length; at++) values[at] = decoder.value(parts[2][at]);
  const before = held(objects.brief(scope));
  let how = words.OK;
  let result;
  try {
    if (word === words.NEW) result = p.construct(target, values);
    else result = p.apply(target, receiver, values);
  } catch (error) {
    how = words.RAISE;
    result = error;
  }
  const changes = changed(objects.brief(scope), objects.encoder(scope), before);
  return [how, objects.tree(result, scope), changes];
}

// Asks the driver something in the middle of a call; it may call again before it answers.
function ask(word, token, values) {
  const scope = new Scope();
  const trees = [];
  for (let at = 0; at < values.length; at++) trees[at] = objects.tree(values[at], scope);
  const before = held(objects.brief(scope));
  const number = --asked;
  loop.wake();
  send([number, word, token, trees, live.changed()]);
  for (;;) {
    const message = next();
    if (message === null) exit(0);
    if (message[0] === number) {
      const decoder = objects.decoder(scope);
      takeOver(decoder, message[3], before.length);
      const value = decoder.value(message[2]);
      if (message[1] === words.OK) return value;
      throw value;
    }
    answer(message[0], answered(message[1], message.slice(2)));
  }
}

async function imported(key) {
  const scope = new Scope();
  try {
    return [words.OK, live.follow(key, await import(key)), []];
  } catch (error) {
    return failed(error, scope);
  }
}

async function waited(milliseconds) {
  await loop.run(milliseconds);
  const settled = loop.take();
  const parts = [];
  for (let at = 0; at < settled.length; at++) {
    const { number, isFulfilled, value } = settled[at];
    parts[at] = [number, isFulfilled, ended(value)];
  }
  return [words.OK, parts, []];
}

// The tree of how a promise ended, or none if there is no way to tell.
function ended(value) {
  try {
    return [objects.tree(value, new Scope())];
  } catch (error) {
    if (error instanceof WireFault) return [];
    throw error;
  }
}

function next() {
  const frame = stream.receive();
  return frame === null ? null : parsed(frame);
}

function send(message) {
  stream.send(p.stringify(message));
}

function answer(number, [word, tree, changes]) {
  try {
    send([number, word, tree, changes, live.changed(), loop.isBusy()]);
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
    send([number, words.REFUSED, "an answer is too large", [], [], false]);
  }
}

async function serve() {
  for (;;) {
    const message = next();
    if (message === null) exit(0);
    const [number, word, first] = message;
    if (word === words.IMPORT) answer(number, await imported(first));
    else if (word === words.WAIT) answer(number, await waited(first));
    else answer(number, answered(word, message.slice(2)));
  }
}

serve();
