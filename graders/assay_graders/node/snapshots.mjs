// Copies of what objects of the candidate hold, each part asked for once: who compares them may
// look as often as it likes, and sees the same.
import { isMap, isSet } from "node:util/types";

import { NEVER } from "./proxies.mjs";

const MOST = 100_000;

// The value with such copies in place of the candidate's objects, functions excepted.
export function snapshotOf(value, exchange) {
  return new Snapshots(exchange).of(value);
}

class Snapshots {
  #exchange;
  #made = new Map();

  constructor(exchange) {
    this.#exchange = exchange;
  }

  of(value) {
    if (typeof value !== "object" || value === null) return value;
    if (this.#made.has(value)) return this.#made.get(value);
    if (this.#made.size > MOST) throw this.#exchange.client.refuse("value");
    if (this.#exchange.isCandidates(value)) return this.#candidates(value);
    const make = makerOf(value);
    if (make === undefined) return value;
    const made = make(value);
    this.#made.set(value, made);
    if (isMap(value)) for (const [key, item] of value) made.set(this.of(key), this.of(item));
    else if (isSet(value)) for (const item of value) made.add(this.of(item));
    else this.#copyOwn(value, made);
    return made;
  }

  #copyOwn(value, made) {
    for (const key of Reflect.ownKeys(value)) {
      const own = Reflect.getOwnPropertyDescriptor(value, key);
      if ("value" in own) own.value = this.of(own.value);
      Object.defineProperty(made, key, own);
    }
  }

  #candidates(value) {
    // Errors and promises are real ones, whose own parts are here already.
    if (value instanceof Error || value instanceof Promise) return value;
    const proto = Object.getPrototypeOf(value);
    const made = this.#exchange.isArray(value) ? [] : {};
    this.#made.set(value, Object.setPrototypeOf(made, proto));
    for (const { key, enumerable, isData, value: held } of this.#exchange.own(value)) {
      if (NEVER.has(key)) continue;
      const part = this.of(isData ? held : this.#exchange.get(value, key));
      if (key === "length" && Array.isArray(made)) made.length = part >>> 0;
      else Object.defineProperty(made, key, { value: part, enumerable, configurable: true });
    }
    return made;
  }
}

function makerOf(value) {
  const proto = Object.getPrototypeOf(value);
  if (Array.isArray(value)) return () => Object.setPrototypeOf([], proto);
  if (isMap(value)) return () => Object.setPrototypeOf(new Map(), proto);
  if (isSet(value)) return () => Object.setPrototypeOf(new Set(), proto);
  return proto === null || proto === Object.prototype ? () => Object.create(proto) : undefined;
}
