// Time of the candidate's process: its event loop runs only while the driver waits for it. A
// promise of the candidate's is a real one here, ended by what the worker says in a wait.
import { WireFault } from "./frames.mjs";
import * as p from "./primordials.mjs";
import * as words from "./words.mjs";

const { setImmediate, setTimeout, clearTimeout } = globalThis;
const now = performance.now.bind(performance);
const SHORTEST = 1;
const LONGEST = 20;
const BESIDE = 4;
/* Milliseconds: of one wait while nothing happens, growing; and between looks at a process that
   has nothing to do that the driver knows of. */

export class Waiting {
  #client;
  #exchange;
  #notes;
  #callSeconds;
  #pending = new Map();
  #isScheduled = false;
  #timer;
  #slice = SHORTEST;

  constructor(client, exchange, notes, callSeconds) {
    this.#client = client;
    this.#exchange = exchange;
    this.#notes = notes;
    this.#callSeconds = callSeconds;
  }

  // A promise that ends when the worker's promise of this number does.
  promise(number) {
    return new Promise((resolve, reject) => {
      const { note } = this.#client;
      this.#pending.set(number, { resolve, reject, note, since: now() });
      this.#slice = SHORTEST;
    });
  }

  // Goes on waiting if there is anything to wait for.
  goOn() {
    if (this.#isScheduled || this.#client.isLost || this.#notes.active === 0) return;
    const isWanted = this.#pending.size > 0 || this.#client.isBusy;
    if (isWanted) {
      this.#isScheduled = true;
      setImmediate(() => this.#look());
    } else if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#look(), BESIDE).unref();
    }
  }

  // The worker is gone, and what it promised with it.
  lost(error) {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(error);
  }

  #look() {
    this.#isScheduled = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#client.isLost || this.#notes.active === 0) return;
    try {
      this.#checkTime();
      // Who began to look may be over, and what it was allowed to take with it.
      this.#notes.amid(() => this.#wait());
    } catch {
      // It is noted, and whoever waits for a promise has been told.
      return;
    }
    this.goOn();
  }

  #wait() {
    const isWanted = this.#pending.size > 0 || this.#client.isBusy;
    const asked = isWanted ? this.#slice : 0;
    const ended = this.#client.request(
      words.WAIT,
      [asked],
      (tree) => this.#read(tree),
      () => new WireFault("a wait raises nothing"),
    );
    this.#slice = ended.length > 0 ? SHORTEST : Math.min(2 * this.#slice, LONGEST);
    for (const end of ended) end();
  }

  #checkTime() {
    if (!this.#callSeconds) return;
    for (const { since } of this.#pending.values()) {
      if (now() - since > this.#callSeconds * 1000) throw this.#client.lose("silent");
    }
  }

  #read(tree) {
    if (!p.isArray(tree)) throw new WireFault("no list of ends");
    return tree.map((part) => {
      const isFine = p.isArray(part) && part.length === 3 && p.isArray(part[2]);
      if (!isFine || typeof part[1] !== "boolean" || part[2].length > 1) {
        throw new WireFault("no end of a promise");
      }
      const [number, isFulfilled, value] = part;
      const waiting = this.#pending.get(number);
      if (waiting === undefined) throw new WireFault("an end of what was not promised");
      this.#pending.delete(number);
      if (value.length === 0) {
        const refusal = waiting.note.refuse("value", false);
        return () => waiting.reject(refusal);
      }
      const result = this.#exchange.read(value[0], waiting.note);
      return () => (isFulfilled ? waiting.resolve(result) : waiting.reject(result));
    });
  }
}
