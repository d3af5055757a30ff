// Objects and functions of the candidate as the tests see them. A proxy answers what has no
// operand of the test's: properties, keys, calls. The language has no other way to compare than
// to look at such data, so nothing of a comparison is ever asked.
import { inspect } from "node:util";

const { prototype: FUNCTION } = Function;
// What tools ask for, so that no candidate may answer it.
export const NEVER = new Set([inspect.custom, Symbol.isConcatSpreadable, Symbol.unscopables]);
const OWN_OF_FUNCTIONS = new Set(["call", "apply", "bind", "constructor", Symbol.hasInstance]);

class Handler {
  constructor(exchange, target) {
    this.exchange = exchange;
    this.target = target;
  }

  get(target, key) {
    // Nothing but a class says what its objects are.
    if (NEVER.has(key) || key === Symbol.hasInstance) return undefined;
    return this.exchange.get(this.proxy, key);
  }

  has(target, key) {
    return this.exchange.has(this.proxy, key);
  }

  ownKeys() {
    return this.exchange.own(this.proxy).map(({ key }) => key);
  }

  getOwnPropertyDescriptor(target, key) {
    const own = this.exchange.own(this.proxy).find((found) => found.key === key);
    if (own === undefined) return undefined;
    const { enumerable } = own;
    const fixed = Reflect.getOwnPropertyDescriptor(target, key)?.configurable === false;
    const value = this.get(target, key);
    return { value, writable: true, enumerable, configurable: !fixed };
  }

  set() {
    throw this.#refused();
  }

  defineProperty() {
    throw this.#refused();
  }

  deleteProperty() {
    throw this.#refused();
  }

  setPrototypeOf() {
    throw this.#refused();
  }

  preventExtensions() {
    throw this.#refused();
  }

  #refused() {
    return this.exchange.client.refuse("attribute-set");
  }
}

class FunctionHandler extends Handler {
  get(target, key) {
    if (OWN_OF_FUNCTIONS.has(key)) return FUNCTION[key];
    if (key === "name" || key === "length") return target[key];
    if (key === "prototype") return this.#linked(target);
    return super.get(target, key);
  }

  getPrototypeOf() {
    return this.exchange.parent(this.proxy);
  }

  getOwnPropertyDescriptor(target, key) {
    if (key === "prototype") this.#linked(target);
    const own = Reflect.getOwnPropertyDescriptor(target, key);
    return own ?? super.getOwnPropertyDescriptor(target, key);
  }

  apply(target, receiver, values) {
    return this.exchange.call(this.proxy, receiver, values);
  }

  construct(target, values, newTarget) {
    if (newTarget !== this.proxy) throw this.exchange.client.refuse("subclass", true);
    return this.exchange.construct(this.proxy, values);
  }

  // `instanceof` looks here.
  #linked(target) {
    const proto = this.exchange.linked(this.proxy);
    if (proto !== undefined && Object.hasOwn(target, "prototype")) target.prototype = proto;
    return proto;
  }
}

function proxied(handler) {
  handler.proxy = new Proxy(handler.target, handler);
  return handler.proxy;
}

// An object of the candidate's. It never is an array here: what compares arrays reads their
// length more than once, and nothing makes the other side give the same answer twice.
export function objectProxy(exchange, proto) {
  return proxied(new Handler(exchange, Object.create(proto)));
}

// A function, which may construct.
export function functionProxy(exchange, name, length, constructs) {
  const target = constructs ? function () {} : () => {};
  Object.defineProperty(target, "name", { value: name, configurable: true });
  Object.defineProperty(target, "length", { value: length, configurable: true });
  return proxied(new FunctionHandler(exchange, target));
}

// The prototype of a class of the candidate's. It is no proxy: `instanceof`, and errors that are
// real ones, need it as the language has it.
export function prototype(exchange, parent, keys, texts) {
  const proto = Object.create(parent);
  for (const [key, value] of texts) {
    Object.defineProperty(proto, key, { value, writable: true, configurable: true });
  }
  for (const key of keys) {
    if (NEVER.has(key)) continue;
    Object.defineProperty(proto, key, {
      configurable: true,
      get() {
        return exchange.get(exchange.isCandidates(this) ? this : proto, key);
      },
      set(value) {
        if (!(this instanceof Error)) throw exchange.client.refuse("attribute-set");
        Object.defineProperty(this, key, { value, writable: true, configurable: true });
      },
    });
  }
  return proto;
}
