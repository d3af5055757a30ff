// Which values are values by themselves, and the numbers that give identity to them in an exchange.
import * as p from "./primordials.mjs";

export const MAX_DEPTH = 100;
export const MAX_NODES = 1_000_000;
export const MAX_DIGITS = 20_000;
export const MAX_PATTERN = 2_000;
const LAST_INDEX = 2 ** 32 - 2;
const WHOLE = /^(?:0|[1-9][0-9]{0,9})$/;

export const NUMBERS = new Map([["nan", NaN], ["inf", Infinity], ["-inf", -Infinity], ["-0", -0]]);
export const VIEWS = new Map(
  [
    ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array],
    ...[Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array],
  ].map((kind) => [kind.name, kind]),
);
export const VIEW_NAMES = new Map([...VIEWS].map(([name, kind]) => [kind.prototype, name]));
VIEW_NAMES.set(p.Buffer.prototype, "Buffer");
export const SYMBOLS = new Map(
  Object.getOwnPropertyNames(Symbol)
    .filter((name) => typeof Symbol[name] === "symbol")
    .map((name) => [name, Symbol[name]]),
);
export const SYMBOL_NAMES = new Map([...SYMBOLS].map(([name, symbol]) => [symbol, name]));
const { prototype: OBJECT } = Object;
const { prototype: ARRAY } = Array;
const { prototype: MAP } = Map;
const { prototype: SET } = Set;
const { prototype: DATE } = Date;
const { prototype: REGEXP } = RegExp;
const { prototype: BUFFER } = ArrayBuffer;

// What has been met in one exchange, both ways.
export class Scope {
  #numbers = new Map();
  objects = [];

  add(value) {
    p.mapSet(this.#numbers, value, this.objects.length);
    this.objects[this.objects.length] = value;
  }

  number(value) {
    return p.mapGet(this.#numbers, value);
  }

  // Forgets what was met after the first `count`.
  cut(count) {
    for (let at = count; at < this.objects.length; at++) {
      p.mapDelete(this.#numbers, this.objects[at]);
    }
    this.objects.length = count;
  }
}

// The tag of a value by itself, "" for anything else.
export function kindOf(value, functions) {
  const proto = p.getPrototypeOf(value);
  if (proto === null) return isPlain(value, functions) ? "O" : "";
  if (proto === OBJECT) return isPlain(value, functions) ? "o" : "";
  if (proto === ARRAY) return p.isArray(value) && isList(value) ? "a" : "";
  const view = p.mapGet(VIEW_NAMES, proto);
  if (view !== undefined) return p.types.isTypedArray(value) ? view : "";
  if (proto === MAP) return p.types.isMap(value) && isBare(value) ? "m" : "";
  if (proto === SET) return p.types.isSet(value) && isBare(value) ? "s" : "";
  if (proto === DATE) return p.types.isDate(value) && isBare(value) ? "d" : "";
  if (proto === BUFFER) return p.types.isArrayBuffer(value) && isBare(value) ? "ArrayBuffer" : "";
  if (proto === REGEXP) return p.types.isRegExp(value) && isBare(value, 1) ? "r" : "";
  return "";
}

const isBare = (value, own = 0) => p.ownKeys(value).length === own;

// Only data under names, as an object literal makes it. Functions among them need their `this`, so
// that who sends them says whether they count as data.
function isPlain(value, functions) {
  const keys = p.ownKeys(value);
  for (let at = 0; at < keys.length; at++) {
    if (!isNamedData(value, keys[at])) return false;
    if (!functions && typeof value[keys[at]] === "function") return false;
  }
  return true;
}

// Items, and only data under names beside them.
function isList(value) {
  const keys = p.ownKeys(value);
  for (let at = keys.length - 1; at >= 0; at--) {
    if (typeof keys[at] === "string" && isIndex(keys[at])) return true;
    if (keys[at] !== "length" && !isNamedData(value, keys[at])) return false;
  }
  return true;
}

function isNamedData(value, key) {
  if (typeof key === "symbol") return false;
  const own = p.descriptorOf(value, key);
  return own.enumerable && "value" in own;
}

export const isIndex = (key) => p.matches(WHOLE, key) && +key <= LAST_INDEX;

// What an array has beside its items, in order.
export function namedKeys(list) {
  const keys = p.ownKeys(list);
  const named = [];
  for (let at = keys.length - 1; at >= 0 && !isIndex(keys[at]); at--) {
    if (keys[at] !== "length") named[named.length] = keys[at];
  }
  const ordered = [];
  for (let at = named.length - 1; at >= 0; at--) ordered[ordered.length] = named[at];
  return ordered;
}

