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
// The language's own, and a few of Node's. What does something to the process is not among them, nor
// what makes code from text.
const CLASSES = [
  ...["Object", "Array", "Number", "Boolean", "String", "Symbol", "BigInt", "Date", "RegExp"],
  ...["Map", "Set", "WeakMap", "WeakSet", "WeakRef", "Promise", "Iterator", "ArrayBuffer"],
  ...["SharedArrayBuffer", "DataView", "Int8Array", "Uint8Array", "Uint8ClampedArray"],
  ...["Int16Array", "Uint16Array", "Int32Array", "Uint32Array", "Float32Array", "Float64Array"],
  ...["BigInt64Array", "BigUint64Array", "Error", "TypeError", "RangeError", "SyntaxError"],
  ...["ReferenceError", "EvalError", "URIError", "AggregateError", "URL", "URLSearchParams"],
];
const FUNCTIONS = [
  ...["parseInt", "parseFloat", "isNaN", "isFinite", "encodeURI", "encodeURIComponent"],
  ...["decodeURI", "decodeURIComponent"],
];

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

for (const key of CLASSES.filter((name) => name in globalThis)) {
  enterClass(key, globalThis[key]);
  enterMembers(key, globalThis[key]);
}
for (const key of FUNCTIONS) enter(key, globalThis[key]);
for (const key of ["Math", "JSON", "Reflect"]) enterMembers(key, globalThis[key]);
enter("Function.prototype", Function.prototype);
enterMembers("Function.prototype", Function.prototype);
for (const [name, value] of HIDDEN) {
  if (typeof value === "function") enterClass(name, value);
  else enter(name, value);
}

export const builtinName = (value) => p.mapGet(byValue, value);
export const builtinNamed = (name) => p.mapGet(byName, name);
