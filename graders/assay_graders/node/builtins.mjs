// Functions and prototypes that every process has: they go by name and mean the same on both
// sides. Known by identity, never by what something calls itself.
import assert from "node:assert";
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";

import * as p from "./primordials.mjs";

const HIDDEN = [
  ["Iterator.prototype", Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()))],
  ["Generator.prototype", Object.getPrototypeOf(function* () {}).prototype],
  ["AsyncGenerator.prototype", Object.getPrototypeOf(async function* () {}).prototype],
  ["TypedArray", Object.getPrototypeOf(Int8Array)],
  ["AssertionError", assert.AssertionError],
  ["Buffer", Buffer],
  ["EventEmitter", EventEmitter],
];
// These do something to the process that they run in, or make code from text.
const IMPURE = new Set(["eval", "Function", "fetch", "gc", "require", "structuredClone"]);
const TIMED = /^(?:set|clear)(?:Timeout|Interval|Immediate)$|^queueMicrotask$/;

const byName = new Map();
const byValue = new Map();

function enter(name, value) {
  if (p.mapHas(byValue, value)) return;
  p.mapSet(byName, name, value);
  p.mapSet(byValue, value, name);
}

function enterMembers(name, holder) {
  for (const key of Object.getOwnPropertyNames(holder)) {
    const own = Object.getOwnPropertyDescriptor(holder, key);
    if (typeof own.value === "function" && key !== "constructor") enter(`${name}.${key}`, own.value);
  }
}

function enterClass(name, value) {
  enter(name, value);
  if (value.prototype === null || typeof value.prototype !== "object") return;
  enter(`${name}.prototype`, value.prototype);
  enterMembers(`${name}.prototype`, value.prototype);
}

for (const key of Object.getOwnPropertyNames(globalThis)) {
  if (IMPURE.has(key) || TIMED.test(key)) continue;
  const { value } = Object.getOwnPropertyDescriptor(globalThis, key);
  if (typeof value === "function") {
    enterClass(key, value);
    if (value.prototype !== undefined) enterMembers(key, value);
  }
}
for (const key of ["Math", "JSON", "Reflect"]) enterMembers(key, globalThis[key]);
enter("Function.prototype", Function.prototype);
enterMembers("Function.prototype", Function.prototype);
for (const [name, value] of HIDDEN) {
  if (typeof value === "function") enterClass(name, value);
  else enter(name, value);
}

export const builtinName = (value) => p.mapGet(byValue, value);
export const builtinNamed = (name) => p.mapGet(byName, name);
