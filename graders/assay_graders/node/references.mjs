// References in both directions: which proxy is which object of the worker's. The same object is
// always the same proxy. A proxy that came from a module, or from what did, remembers the way,
// so that it can be used again after the worker had to be replaced.
import { builtinName, builtinNamed } from "./builtins.mjs";
import { Decoder } from "./decode.mjs";
import { Encoder } from "./encode.mjs";
import { WireFault } from "./frames.mjs";
import { Scope, SEARCHES } from "./kinds.mjs";
import * as p from "./primordials.mjs";
import { functionProxy, objectProxy, prototype } from "./proxies.mjs";
import * as words from "./words.mjs";

const DEEPEST_CHAIN = 50;

export class References {
  #client;
  #options;
  #brief;
  #records = new Map();
  #numbers = new Map();
  #depth = 0;
  // Set by who makes proxies do something.
  exchange;
  lent;
  waiting;
  loadAgain;

  constructor(client, nan) {
    this.#client = client;
    const special = (value, encoder) => this.#special(value, encoder);
    this.#options = {
      nan,
      functions: true,
      takesFunctions: false,
      special,
      other: (value, encoder) => this.#other(value, encoder),
      resolve: (payload, decoder) => this.#resolve(payload, decoder),
    };
    const name = (value) => this.#name(value);
    const known = (value) => (this.#isReferred(value) ? name(value) : undefined);
    this.#brief = { nan: true, functions: true, special: known, other: name };
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

  // Whether a value stands for an object of the candidate's.
  isCandidates(value) {
    return this.#records.has(value);
  }

  // Remembers that `value` was found in `holder` under `key`.
  foundAt(value, holder, key) {
    const record = this.#records.get(value);
    if (record !== undefined && record.way === undefined) record.way = { holder, key };
  }

  // Has a proxy stand for what a fresh worker calls by another number.
  rebind(value, tree) {
    const record = this.#records.get(value);
    if (record === undefined || !p.isArray(tree) || tree[0] !== "#" || tree[1] !== record.word) {
      return;
    }
    if (!p.isSafeInteger(tree[2]) || this.#numbers.has(tree[2])) return;
    this.#place(record, tree[2], value);
    const proto = record.linked === undefined ? undefined : this.#records.get(record.linked);
    if (proto !== undefined && p.isSafeInteger(tree[5]) && !this.#numbers.has(tree[5])) {
      this.#place(proto, tree[5], record.linked);
    }
  }

  // Numbers mean something else from now on.
  forget() {
    this.#numbers.clear();
  }

  // The prototype that belongs to a function of the candidate's, which then is linked to it.
  linked(record) {
    if (record.linked === undefined && record.proto > 0) {
      record.linked = this.#numbers.get(record.proto) ?? this.exchange.prototype(record.proto);
    }
    return record.linked;
  }

  // The prototype that a payload tells of.
  prototype(payload) {
    if (payload === null) return null;
    if (!p.isArray(payload)) throw new WireFault("no prototype");
    const [word, number] = payload;
    if (word === "B") return this.#builtin(number, "object");
    if (word !== "c" || !isNumber(number)) throw new WireFault("no prototype");
    const known = this.#numbers.get(number);
    if (payload.length === 2) return known ?? this.exchange.prototype(number);
    if (payload.length !== 5) throw new WireFault("no prototype");
    if (++this.#depth > DEEPEST_CHAIN) throw new WireFault("too many prototypes");
    try {
      const parent = this.prototype(payload[2]);
      const parts = this.#parts(payload);
      return known ?? this.#register("n", number, prototype(this.exchange, parent, ...parts));
    } finally {
      this.#depth--;
    }
  }

  // The keys that have to be asked for, and pairs of name and text.
  #parts([, , , trees, texts]) {
    if (!p.isArray(trees) || !p.isArray(texts)) throw new WireFault("a prototype without parts");
    const decoder = this.decoder(new Scope());
    const keys = trees.map((tree) => decoder.value(tree));
    const areFine = keys.every((key) => typeof key === "string" || typeof key === "symbol");
    if (!areFine || !texts.every(isPairOfTexts)) throw new WireFault("no parts of a prototype");
    return [keys, texts];
  }

  #special(value, encoder) {
    const record = this.#records.get(value);
    if (record === undefined) {
      const name = builtinName(value);
      if (name !== undefined) return ["#", "B", name];
      // What a test wraps by a proxy of its own can't be told from what it wraps.
      return p.types.isProxy(value) ? this.lent.payload(value, encoder) : undefined;
    }
    if (record.generation !== this.#client.generation) this.#findAgain(record, value);
    return ["#", "n", record.number];
  }

  #other(value, encoder) {
    const record = this.#records.get(value);
    if (record !== undefined) return this.#special(value, encoder);
    if (p.types.isModuleNamespaceObject(value)) throw this.#client.refuse("argument", true);
    return this.lent.payload(value, encoder);
  }

  #name(value) {
    const record = this.#records.get(value);
    if (record !== undefined) return ["#", "n", record.number, record.generation];
    return ["#", "B", builtinName(value) ?? this.lent.token(value)];
  }

  #isReferred(value) {
    return (
      this.#records.has(value) || builtinName(value) !== undefined || p.types.isProxy(value)
    );
  }

  #findAgain(record, value) {
    const { way } = record;
    if (!this.loadAgain(value)) {
      if (way === undefined) throw this.#client.refuse("stale");
      this.exchange.again(way.holder, way.key, value);
    }
    if (record.generation !== this.#client.generation) throw this.#client.refuse("stale");
  }

  #resolve(payload, decoder) {
    const [, word, number] = payload;
    const resolver = p.hasOwn(RESOLVERS, word) ? RESOLVERS[word] : undefined;
    if (resolver === undefined || payload.length !== resolver.parts) {
      throw new WireFault("a reference of an unknown kind");
    }
    if (word === "L") return this.lent.given(number);
    if (word === "B") return this.#builtin(number);
    if (!isNumber(number)) throw new WireFault("a number of an object is none");
    const known = this.#numbers.get(number);
    if (known !== undefined && this.#records.get(known).word !== resolver.word) {
      throw new WireFault("a number means something else");
    }
    return resolver.make(this, payload, known, decoder);
  }

  #builtin(name, kind = "") {
    const found = typeof name === "string" ? builtinNamed(name) : undefined;
    if (found === undefined || (kind !== "" && typeof found !== kind)) {
      throw new WireFault("nothing that is built in");
    }
    return found;
  }

  object([, , number, proto, isArray], known) {
    const parent = this.prototype(proto);
    if (known !== undefined) return known;
    const made = this.#register("o", number, objectProxy(this.exchange, parent));
    this.#records.get(made).isArray = isArray === true;
    return made;
  }

  function([, , number, name, length, proto], known) {
    const isFine = typeof name === "string" && p.isSafeInteger(length) && p.isSafeInteger(proto);
    if (!isFine || length < 0 || proto < 0) throw new WireFault("a function has another form");
    if (known !== undefined) return known;
    const made = functionProxy(this.exchange, name, length, proto > 0);
    this.#register("f", number, made);
    this.#records.get(made).proto = proto;
    return made;
  }

  promise([, , number], known) {
    if (known !== undefined) return known;
    this.#client.note.use("awaiting");
    return this.#register("P", number, this.waiting.promise(number));
  }

  symbol([, , number, description], known) {
    if (typeof description !== "string") throw new WireFault("a symbol has another form");
    return known ?? this.#register("y", number, Symbol(description));
  }

  sameError(known) {
    if (known === undefined) throw new WireFault("an error that has not been met");
    return known;
  }

  // A real error with the prototype of its class and the data that it holds.
  error([, , number, proto, properties], known, decoder) {
    const parent = this.prototype(proto);
    if (!p.isArray(properties)) throw new WireFault("an error has another form");
    if (builtinName(parent) === undefined) this.#client.note.use("own-errors");
    const error = known ?? this.#register("e", number, bareError(parent));
    for (const property of properties) {
      if (!p.isArray(property) || property.length !== 3) throw new WireFault("no property");
      const [key, enumerable, tree] = property;
      if (typeof key !== "string" || key === "stack" || typeof enumerable !== "boolean") {
        throw new WireFault("no property");
      }
      const value = decoder.value(tree);
      if (typeof value === "function" && SEARCHES.has(key)) throw new WireFault("no property");
      if (known !== undefined) continue;
      p.defineProperty(error, key, { value, enumerable, writable: true, configurable: true });
    }
    if (known === undefined) error.stack = `${textOf(error)}\n    at the candidate's`;
    return error;
  }

  #register(word, number, value) {
    const record = { word, number: 0, generation: 0, way: undefined };
    this.#records.set(value, record);
    this.#place(record, number, value);
    return value;
  }

  #place(record, number, value) {
    record.number = number;
    record.generation = this.#client.generation;
    this.#numbers.set(number, value);
  }

  recordOf(value) {
    return this.#records.get(value);
  }
}

const RESOLVERS = {
  __proto__: null,
  L: { parts: 3 },
  B: { parts: 3 },
  o: { parts: 5, word: "o", make: (own, payload, known) => own.object(payload, known) },
  f: { parts: 6, word: "f", make: (own, payload, known) => own.function(payload, known) },
  e: { parts: 5, word: "e", make: (own, ...rest) => own.error(...rest) },
  E: { parts: 3, word: "e", make: (own, payload, known) => own.sameError(known) },
  P: { parts: 3, word: "P", make: (own, payload, known) => own.promise(payload, known) },
  y: { parts: 4, word: "y", make: (own, payload, known) => own.symbol(payload, known) },
};

const isNumber = (value) => p.isSafeInteger(value) && value > 0;

const isPairOfTexts = (pair) =>
  p.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string");

function bareError(proto) {
  const error = new Error();
  p.defineProperty(error, "stack", { value: "", writable: true, configurable: true });
  return Object.setPrototypeOf(error, proto);
}

// Name and message where both are data; nothing is asked for it.
function textOf(error) {
  const [name, message] = ["name", "message"].map((key) => {
    for (let holder = error; holder !== null; holder = Object.getPrototypeOf(holder)) {
      const own = Object.getOwnPropertyDescriptor(holder, key);
      if (own !== undefined) return typeof own.value === "string" ? own.value : "";
    }
    return "";
  });
  return `${name}: ${message}`;
}
