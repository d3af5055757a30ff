// What modules of the candidate export: a binding may change whenever its code runs, and so may
// what a constant holds. After each message the driver is told what changed.
import { Scope } from "./kinds.mjs";
import * as p from "./primordials.mjs";

export class LiveExports {
  #objects;
  #followed = [];

  constructor(objects) {
    this.#objects = objects;
  }

  // The names and trees of a module's exports, followed from now on.
  follow(key, namespace) {
    const names = p.ownKeys(namespace);
    const parts = [];
    for (let at = 0; at < names.length; at++) {
      if (typeof names[at] === "symbol") continue;
      const value = namespace[names[at]];
      const tree = this.#objects.tree(value, new Scope());
      const text = isHeld(tree) ? "" : p.stringify(tree);
      const index = parts.length;
      parts[index] = [names[at], tree];
      this.#followed[this.#followed.length] = { key, index, namespace, name: names[at], value, text };
    }
    return parts;
  }

  // What changed since the last time: module, which export, tree.
  changed() {
    const changes = [];
    for (let at = 0; at < this.#followed.length; at++) {
      const known = this.#followed[at];
      const value = known.namespace[known.name];
      if (p.is(value, known.value) && known.text === "") continue;
      const tree = this.#objects.tree(value, new Scope());
      const text = isHeld(tree) ? "" : p.stringify(tree);
      if (p.is(value, known.value) && text === known.text) continue;
      known.value = value;
      known.text = text;
      changes[changes.length] = [known.key, known.index, tree];
    }
    return changes;
  }
}

const FIXED = new Set(["#", "u", "f", "n", "y", "Y"]);
// Whether a tree can't change without its value being another one.
const isHeld = (tree) => !p.isArray(tree) || p.setHas(FIXED, tree[0]);
