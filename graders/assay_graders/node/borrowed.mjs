// What a worker has of the driver's: each thing can do one thing and no more. A function can be
// called, an iterator asked for its next item, a promise awaited; an error is its nearest kind.
import { builtinNamed } from "./builtins.mjs";
import * as p from "./primordials.mjs";
import * as words from "./words.mjs";

const ITERATOR = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
const create = Object.create;

export class Borrower {
  #ask;
  #promises = new Map();

  // `ask(word, token, values)` asks the driver and returns or raises what it says.
  constructor(ask) {
    this.#ask = ask;
  }

  make(payload, decoder) {
    const [, word, token, first, second] = payload;
    if (word === "F") return this.#function(token, first, second);
    if (word === "I") return this.#iterator(token);
    if (word === "P") return this.#promise(token);
    const made = new Error(first === null ? "" : first);
    p.defineProperty(made, "stack", { value: `${made}`, writable: true, configurable: true });
    return Object.setPrototypeOf(made, builtinNamed(second));
  }

  // Ends a promise of the driver's.
  settle(token, isFulfilled, value) {
    const ends = p.mapGet(this.#promises, token);
    p.mapDelete(this.#promises, token);
    if (ends !== undefined) (isFulfilled ? ends.resolve : ends.reject)(value);
  }

  #function(token, name, length) {
    const ask = this.#ask;
    const made = function (...values) {
      if (new.target !== undefined) throw new TypeError("a function of a test is no constructor");
      return ask(words.CALL_BACK, token, values);
    };
    p.defineProperty(made, "name", { value: name, configurable: true });
    p.defineProperty(made, "length", { value: length, configurable: true });
    return made;
  }

  #iterator(token) {
    const made = create(ITERATOR);
    const ask = this.#ask;
    made.next = function next() {
      return ask(words.NEXT_BACK, token, []);
    };
    return made;
  }

  #promise(token) {
    return new Promise((resolve, reject) => {
      p.mapSet(this.#promises, token, { resolve, reject });
    });
  }
}
