// Containers that crossed the wire and may change. Both sides have copies, so what a test changes
// in one is not seen on the other side: a check that "the original did not change" would pass
// whatever the candidate does.
import { createHash } from "node:crypto";

import { WireFault } from "./frames.mjs";
import { Scope } from "./kinds.mjs";

const MOST = 100_000;
const SHORT = 256;

export class Watched {
  #brief;

  // `brief(scope)` gives an encoder that only names what goes by reference.
  constructor(brief) {
    this.#brief = brief;
  }

  addResult(note, value) {
    this.#add(note.results, value);
  }

  // What is handed over, and was not changed since it was handed over before. Whether a test
  // changes it may depend on what the candidate left in it or returned.
  addArgument(note, client, value) {
    if (note.arguments.has(value) && this.#differs(note.arguments, value)) {
      client.refuse("argument-changed");
    }
    this.#add(note.arguments, value);
  }

  // The candidate changed its copies: what is watched, or one object of that, holds something
  // else from now on.
  refresh(note, only) {
    for (const kept of [note.arguments, note.results]) {
      for (const value of kept.keys()) {
        if (only === undefined || value === only) this.#add(kept, value);
      }
    }
  }

  // Notes what the test changed; everything is forgotten.
  end(note) {
    if (this.#anyDiffers(note.results)) note.refuse("result-changed", false);
    if (this.#anyDiffers(note.arguments)) note.refuse("argument-changed", false);
    note.results.clear();
    note.arguments.clear();
  }

  // A digest of what a value holds, undefined for what can't change here.
  written(value) {
    if (typeof value !== "object" || value === null) return undefined;
    try {
      const tree = this.#brief(new Scope()).tree(value);
      const text = tree[0] === "#" ? undefined : JSON.stringify(tree);
      return text === undefined || text.length < SHORT ? text : digest(text);
    } catch (fault) {
      if (fault instanceof WireFault) return "";
      throw fault;
    }
  }

  #add(kept, value) {
    if (kept.size >= MOST) return;
    const text = this.written(value);
    if (text !== undefined) kept.set(value, text);
  }

  #differs(kept, value) {
    return this.written(value) !== kept.get(value);
  }

  #anyDiffers(kept) {
    return [...kept.keys()].some((value) => this.#differs(kept, value));
  }
}

const digest = (text) => createHash("sha256").update(text).digest("base64");
