// A worker's objects: what is no value stays here and is known outside by a number.
import { builtinName, builtinNamed } from "./builtins.mjs";
import { Decoder } from "./decode.mjs";
import { Encoder } from "./encode.mjs";
import { WireFault } from "./frames.mjs";
import { SEARCHES } from "./kinds.mjs";
import * as p from "./primordials.mjs";

const MAX_ERRORS_IN_ERRORS = 10;
const { prototype: OBJECT } = Object;
const { prototype: FUNCTION } = Function;

export class Objects {
  #numbers = new Map();
  #objects = [undefined];
  #tokens = new WeakMap();
  #borrowed = new Map();
  #described = new Set();
  #open = [];
  #options;
  #brief;
  #watch;
  #borrow;

  // `watch(promise, number)` is told of each promise that goes out, once. `borrow(kind, token,
  // ...rest)` makes what stands for something of the driver's.
  constructor(nan, watch, borrow) {
    this.#options = {
      nan,
      functions: false,
      searches: false,
      special: (value, encoder) => this.#special(value, encoder),
      other: (value, encoder) => this.#reference(value, encoder),
      resolve: (payload, decoder) => this.#resolve(payload, decoder),
    };
    const name = (value) => ["#", "n", this.#number(value)];
    const isProxy = (value) => (p.types.isProxy(value) ? name(value) : undefined);
    this.#brief = { nan: true, functions: false, special: isProxy, other: name };
    this.#watch = watch;
    this.#borrow = borrow;
  }

  encoder(scope) {
    return new Encoder(scope, this.#options);
  }

  // An encoder that only names what goes by reference, to see whether something changed.
  brief(scope) {
    return new Encoder(scope, this.#brief);
  }

  decoder(scope) {
    return new Decoder(scope, this.#options);
  }

  // The tree of any value; what is too deep or too large to copy becomes a reference.
  tree(value, scope) {
    const met = scope.objects.length;
    try {
      return this.encoder(scope).tree(value);
    } catch (error) {
      if (!(error instanceof WireFault) || !isObject(value)) throw error;
      scope.cut(met);
      return this.#reference(value, this.encoder(scope));
    }
  }

  // The tree of something that stays here, even if it could be copied.
  reference(value, scope) {
    const encoder = this.encoder(scope);
    if (!isObject(value)) return encoder.tree(value);
    return this.#special(value, encoder) ?? this.#reference(value, encoder);
  }

  // The payload of a prototype; what it holds is told when it is met for the first time, or asked.
  prototype(value, encoder, isAsked = false) {
    if (value === null) return null;
    const builtin = builtinName(value);
    if (builtin !== undefined) return ["B", builtin];
    const number = this.#number(value);
    if (!isAsked && p.setHas(this.#described, value)) return ["c", number];
    p.setAdd(this.#described, value);
    const parent = this.prototype(prototypeOf(value), encoder);
    const [asked, texts] = parts(value, encoder);
    return ["c", number, parent, asked, texts];
  }

  #number(value) {
    let number = p.mapGet(this.#numbers, value);
    if (number === undefined) {
      number = this.#objects.length;
      p.mapSet(this.#numbers, value, number);
      this.#objects[number] = value;
    }
    return number;
  }

  #special(value, encoder) {
    const token = p.weakGet(this.#tokens, value);
    if (token !== undefined) return ["#", "L", token];
    const name = builtinName(value);
    if (name !== undefined) return ["#", "B", name];
    return p.types.isProxy(value) ? this.#reference(value, encoder) : undefined;
  }

  #reference(value, encoder) {
    const number = this.#number(value);
    if (typeof value === "symbol") return ["#", "y", number, p.symbolText(value) ?? ""];
    if (typeof value === "function") return this.#function(value, number);
    if (!p.types.isProxy(value)) {
      if (p.types.isPromise(value)) {
        if (!p.setHas(this.#described, value)) this.#watch(value, number);
        p.setAdd(this.#described, value);
        return ["#", "P", number];
      }
      if (p.types.isNativeError(value)) return this.#error(value, number, encoder);
    }
    const proto = this.prototype(prototypeOf(value), encoder);
    return ["#", "o", number, proto, p.isArray(value)];
  }

  #function(value, number) {
    const name = ownData(value, "name");
    const length = ownData(value, "length");
    const proto = ownData(value, "prototype");
    return [
      "#",
      "f",
      number,
      typeof name === "string" ? name : "",
      p.isSafeInteger(length) && length >= 0 ? length : 0,
      typeof proto === "object" && proto !== null ? this.#number(proto) : 0,
    ];
  }

  // An error goes with what it holds itself, so that it can be an error on the other side.
  #error(value, number, encoder) {
    for (let at = 0; at < this.#open.length; at++) {
      if (this.#open[at] === value) return ["#", "E", number];
    }
    if (this.#open.length >= MAX_ERRORS_IN_ERRORS) throw new WireFault("too many errors in errors");
    const proto = this.prototype(prototypeOf(value), encoder);
    const properties = [];
    this.#open[this.#open.length] = value;
    try {
      const keys = p.ownKeys(value);
      for (let at = 0; at < keys.length; at++) {
        const own = p.descriptorOf(value, keys[at]);
        if (typeof keys[at] !== "string" || keys[at] === "stack" || !("value" in own)) continue;
        if (typeof own.value === "function" && p.setHas(SEARCHES, keys[at])) continue;
        const tree = this.#part(own.value, encoder.scope);
        if (tree !== undefined) properties[properties.length] = [keys[at], own.enumerable, tree];
      }
    } finally {
      this.#open.length--;
    }
    return ["#", "e", number, proto, properties];
  }

  // What an error holds, unless that is no data.
  #part(value, scope) {
    const met = scope.objects.length;
    try {
      return this.encoder(scope).tree(value);
    } catch (error) {
      if (!(error instanceof WireFault)) throw error;
      scope.cut(met);
      return undefined;
    }
  }

  // What a reference of the driver's means here.
  #resolve(payload, decoder) {
    const [, word, first] = payload;
    if (word === "n") return this.#objects[first];
    if (word === "B") return builtinNamed(first);
    const known = p.mapGet(this.#borrowed, first);
    if (known !== undefined) return known;
    const made = this.#borrow(payload, decoder);
    p.mapSet(this.#borrowed, first, made);
    p.weakSet(this.#tokens, made, first);
    return made;
  }
}

const isObject = (value) =>
  (typeof value === "object" && value !== null) || typeof value === "function";

// What a prototype holds itself: the keys of what has to be asked for, and pairs of name and text.
function parts(proto, encoder) {
  const keys = p.ownKeys(proto);
  const asked = [];
  const texts = [];
  for (let at = 0; at < keys.length; at++) {
    const data = ownData(proto, keys[at]);
    if (typeof keys[at] === "string" && typeof data === "string") {
      texts[texts.length] = [keys[at], data];
    } else asked[asked.length] = encoder.tree(keys[at]);
  }
  return [asked, texts];
}

// A property's value where reading it runs nothing.
function ownData(value, key) {
  return p.types.isProxy(value) ? undefined : p.descriptorOf(value, key)?.value;
}

// The prototype of an object; a proxy that gives none away is as any object or function.
export function prototypeOf(value) {
  try {
    return p.getPrototypeOf(value);
  } catch {
    return typeof value === "function" ? FUNCTION : OBJECT;
  }
}
