// Values as trees of the wire: null, booleans, finite numbers, text, and tagged lists.
//
// A list's first item is its tag; there are no JSON objects, so no key can occur twice there.
// What is no value by itself goes by reference, which the two sides do in different ways. What
// has been met in the same exchange is named by its number, so identity and cycles survive.
import { WireFault } from "./frames.mjs";
import { kindOf, MAX_DEPTH, MAX_DIGITS, MAX_NODES, MAX_PATTERN, namedKeys } from "./kinds.mjs";
import { SEARCHES, SYMBOL_NAMES } from "./kinds.mjs";
import * as p from "./primordials.mjs";

const FREEZABLE = new Set(["o", "O", "a"]);

// `special(value, encoder)` may give the tree of an object or function, and `other` must give that
// of what is no value by itself. `nan`: NaN may pass; `functions`: an object that holds some may
// be a value; `searches`: what changed in an object may be a function that is asked to search.
export class Encoder {
  // The object whose property is being read.
  holder = undefined;
  #nodes = 0;
  #depth = 0;

  constructor(scope, { nan, functions, special, other, searches = true }) {
    this.scope = scope;
    this.nan = nan;
    this.functions = functions;
    this.searches = searches;
    this.special = special;
    this.other = other;
  }

  tree(value) {
    if (++this.#nodes > MAX_NODES) throw new WireFault("a value has too many parts");
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        return this.#number(value);
      case "undefined":
        return ["u"];
      case "bigint":
        return this.#bigint(value);
      case "symbol":
        return this.#symbol(value);
    }
    if (value === null) return null;
    const given = this.special(value, this);
    if (given !== undefined) return given;
    const known = this.scope.number(value);
    if (known !== undefined) return ["=", known];
    if (this.#depth >= MAX_DEPTH) throw new WireFault("a value is too deep");
    this.#depth++;
    try {
      return this.#content(value) ?? this.other(value, this);
    } finally {
      this.#depth--;
    }
  }

  // The tree of what an object that has been met holds now.
  content(value) {
    const kind = p.types.isProxy(value) ? "" : kindOf(value, true);
    if (kind === "") throw new WireFault("an object is no value any more");
    return this.#parts(value, kind);
  }

  #number(value) {
    if (p.is(value, -0)) return ["f", "-0"];
    if (p.isFinite(value)) return value;
    if (value === Infinity) return ["f", "inf"];
    if (value === -Infinity) return ["f", "-inf"];
    if (!this.nan) throw new WireFault("a number is NaN");
    return ["f", "nan"];
  }

  #bigint(value) {
    const digits = p.bigText(value, 16);
    if (digits.length > MAX_DIGITS) throw new WireFault("an integer is too large");
    return ["n", digits];
  }

  #symbol(value) {
    const name = p.mapGet(SYMBOL_NAMES, value);
    if (name !== undefined) return ["y", name];
    const key = p.keyFor(value);
    return key === undefined ? this.other(value, this) : ["Y", key];
  }

  #content(value) {
    if (typeof value !== "object" || p.types.isProxy(value)) return undefined;
    const kind = kindOf(value, this.functions);
    if (kind === "") return undefined;
    this.scope.add(value);
    const tree = this.#parts(value, kind);
    return p.isFrozen(value) && p.setHas(FREEZABLE, kind) ? ["z", tree] : tree;
  }

  #parts(value, kind) {
    if (kind === "o" || kind === "O") return this.#entries([kind], value, p.ownKeys(value));
    if (kind === "a") return this.#items(value);
    if (kind === "m") {
      const tree = ["m"];
      p.mapEach(value, (item, key) => {
        tree[tree.length] = this.tree(key);
        tree[tree.length] = this.tree(item);
      });
      return tree;
    }
    if (kind === "s") {
      const tree = ["s"];
      p.setEach(value, (item) => {
        tree[tree.length] = this.tree(item);
      });
      return tree;
    }
    if (kind === "d") {
      const time = p.dateTime(value);
      return ["d", time === time ? time : null];
    }
    if (kind === "r") {
      const source = p.regexSource(value);
      if (source.length > MAX_PATTERN) throw new WireFault("a pattern is too long");
      return ["r", source, p.regexFlags(value), value.lastIndex];
    }
    if (kind === "ArrayBuffer") return ["b", kind, p.toBase64(value, 0, p.bufferBytes(value))];
    return ["b", kind, p.toBase64(p.viewBuffer(value), p.viewOffset(value), p.viewBytes(value))];
  }

  #entries(tree, value, keys) {
    for (let at = 0; at < keys.length; at++) {
      this.holder = value;
      const held = p.descriptorOf(value, keys[at]).value;
      if (!this.searches && typeof held === "function") {
        const isSearch = p.isArray(value) || p.setHas(SEARCHES, keys[at]);
        if (isSearch) throw new WireFault("a function in the place of a search");
      }
      tree[tree.length] = keys[at];
      tree[tree.length] = this.tree(held);
    }
    return tree;
  }

  #items(value) {
    if (value.length > MAX_NODES) throw new WireFault("a list is too long");
    const items = ["a"];
    for (let at = 0; at < value.length; at++) {
      this.holder = undefined;
      items[at + 1] = p.hasOwn(value, at) ? this.tree(value[at]) : ["h"];
    }
    const named = namedKeys(value);
    return named.length === 0 ? items : this.#entries(["A", items], value, named);
  }
}

