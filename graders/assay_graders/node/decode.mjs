// Trees of the wire as values.
import { WireFault } from "./frames.mjs";
import { isIndex, MAX_DEPTH, MAX_DIGITS, MAX_NODES, MAX_PATTERN } from "./kinds.mjs";
import { NUMBERS, SYMBOLS, VIEWS } from "./kinds.mjs";
import * as p from "./primordials.mjs";

const FREEZABLE = new Set(["o", "O", "a", "A"]);
const HEX = /^-?[0-9a-f]+$/;

// Reads trees strictly: exactly what an Encoder writes, or a WireFault. `resolve(payload, this)`
// gives what a reference stands for.
export class Decoder {
  #nodes = 0;
  #depth = 0;
  #isContent = false;

  constructor(scope, { nan, resolve }) {
    this.scope = scope;
    this.nan = nan;
    this.resolve = resolve;
  }

  value(tree) {
    if (++this.#nodes > MAX_NODES) throw new WireFault("a value has too many parts");
    switch (typeof tree) {
      case "string":
      case "boolean":
        return tree;
      case "number":
        if (!p.isFinite(tree)) throw new WireFault("a number is out of range");
        return tree;
    }
    if (tree === null) return null;
    if (!p.isArray(tree) || typeof tree[0] !== "string") throw new WireFault("no tree");
    if (this.#depth > MAX_DEPTH) throw new WireFault("a value is too deep");
    this.#depth++;
    try {
      return this.#tagged(tree, tree[0]);
    } finally {
      this.#depth--;
    }
  }

  // What an object that has been met holds now, as another object that does not count as met.
  content(tree) {
    this.#isContent = true;
    const made = this.value(tree);
    if (this.#isContent) throw new WireFault("no content of an object");
    return made;
  }

  #tagged(tree, tag) {
    const reader = p.hasOwn(READERS, tag) ? READERS[tag] : undefined;
    if (reader === undefined) throw new WireFault("an unknown tag");
    return reader(this, tree);
  }

  // An object that counts as met from now on.
  met(value) {
    if (!this.#isContent) this.scope.add(value);
    this.#isContent = false;
    return value;
  }
}

function sized(tree, size) {
  if (tree.length !== size) throw new WireFault("a tag with another number of parts");
}

function text(value) {
  if (typeof value !== "string") throw new WireFault("no text");
  return value;
}

function define(target, key, value) {
  p.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

function entries(decoder, made, tree, from) {
  if ((tree.length - from) % 2 !== 0) throw new WireFault("a key without a value");
  for (let at = from; at < tree.length; at += 2) {
    if (p.hasOwn(made, text(tree[at]))) throw new WireFault("a key occurs twice");
    define(made, tree[at], decoder.value(tree[at + 1]));
  }
  return made;
}

function items(decoder, made, tree) {
  if (!p.isArray(tree) || tree[0] !== "a") throw new WireFault("no list");
  for (let at = 1; at < tree.length; at++) {
    const isHole = p.isArray(tree[at]) && tree[at].length === 1 && tree[at][0] === "h";
    if (!isHole) made[at - 1] = decoder.value(tree[at]);
  }
  made.length = tree.length - 1;
  return made;
}

const READERS = {
  __proto__: null,
  u(decoder, tree) {
    sized(tree, 1);
    return undefined;
  },
  f(decoder, tree) {
    sized(tree, 2);
    if (!p.mapHas(NUMBERS, tree[1])) throw new WireFault("a number that is none");
    if (tree[1] === "nan" && !decoder.nan) throw new WireFault("a number is NaN");
    return p.mapGet(NUMBERS, tree[1]);
  },
  n(decoder, tree) {
    sized(tree, 2);
    const digits = text(tree[1]);
    if (digits.length > MAX_DIGITS || !p.matches(HEX, digits)) {
      throw new WireFault("an integer that is none");
    }
    const isNegative = digits[0] === "-";
    const made = BigInt(`0x${isNegative ? p.textSlice(digits, 1) : digits}`);
    const value = isNegative ? -made : made;
    if (p.bigText(value, 16) !== digits) throw new WireFault("an integer in another form");
    return value;
  },
  y(decoder, tree) {
    sized(tree, 2);
    const found = p.mapGet(SYMBOLS, text(tree[1]));
    if (found === undefined) throw new WireFault("an unknown symbol");
    return found;
  },
  Y(decoder, tree) {
    sized(tree, 2);
    return p.symbolFor(text(tree[1]));
  },
  a: (decoder, tree) => items(decoder, decoder.met([]), tree),
  A(decoder, tree) {
    const made = decoder.met([]);
    items(decoder, made, tree[1]);
    for (let at = 2; at < tree.length; at += 2) {
      if (isIndex(text(tree[at]))) throw new WireFault("an item among named properties");
    }
    return entries(decoder, made, tree, 2);
  },
  z(decoder, tree) {
    sized(tree, 2);
    if (!p.isArray(tree[1]) || !p.setHas(FREEZABLE, tree[1][0])) throw new WireFault("not frozen");
    return p.freeze(decoder.value(tree[1]));
  },
  o: (decoder, tree) => entries(decoder, decoder.met({}), tree, 1),
  O: (decoder, tree) => entries(decoder, decoder.met({ __proto__: null }), tree, 1),
  m(decoder, tree) {
    const made = decoder.met(new Map());
    if (tree.length % 2 !== 1) throw new WireFault("a key without a value");
    for (let at = 1; at < tree.length; at += 2) {
      const key = decoder.value(tree[at]);
      if (p.mapHas(made, key)) throw new WireFault("a key occurs twice");
      p.mapSet(made, key, decoder.value(tree[at + 1]));
    }
    return made;
  },
  s(decoder, tree) {
    const made = decoder.met(new Set());
    for (let at = 1; at < tree.length; at++) {
      const item = decoder.value(tree[at]);
      if (p.setHas(made, item)) throw new WireFault("an element occurs twice");
      p.setAdd(made, item);
    }
    return made;
  },
  d(decoder, tree) {
    sized(tree, 2);
    if (tree[1] !== null && !p.isSafeInteger(tree[1])) throw new WireFault("no time");
    const made = new Date(tree[1] ?? NaN);
    if (p.dateTime(made) !== tree[1] && tree[1] !== null) throw new WireFault("no time");
    return decoder.met(made);
  },
  r(decoder, tree) {
    sized(tree, 4);
    const source = text(tree[1]);
    if (source.length > MAX_PATTERN) throw new WireFault("a pattern is too long");
    if (!p.isSafeInteger(tree[3]) || tree[3] < 0) throw new WireFault("a pattern has no place");
    try {
      const made = new RegExp(source, text(tree[2]));
      made.lastIndex = tree[3];
      return decoder.met(made);
    } catch {
      throw new WireFault("a pattern that is none");
    }
  },
  b(decoder, tree) {
    sized(tree, 3);
    const bytes = p.fromBase64(text(tree[2]));
    if (p.toBase64(bytes.buffer, bytes.byteOffset, bytes.length) !== tree[2]) {
      throw new WireFault("no base 64");
    }
    if (tree[1] === "Buffer") return decoder.met(bytes);
    const copy = new Uint8Array(bytes.length);
    p.viewSet(copy, bytes);
    if (tree[1] === "ArrayBuffer") return decoder.met(copy.buffer);
    const Kind = p.mapGet(VIEWS, tree[1]);
    if (Kind === undefined || bytes.length % Kind.BYTES_PER_ELEMENT !== 0) {
      throw new WireFault("bytes of an unknown kind");
    }
    return decoder.met(new Kind(copy.buffer));
  },
  "="(decoder, tree) {
    sized(tree, 2);
    const known = p.isSafeInteger(tree[1]) ? decoder.scope.objects[tree[1]] : undefined;
    if (known === undefined) throw new WireFault("something that has not been met");
    return known;
  },
  "#": (decoder, tree) => decoder.resolve(tree, decoder),
};
