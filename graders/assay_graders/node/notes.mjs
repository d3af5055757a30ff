// What each test did on the wire, and what of that forbids a pass. It is noted here and not only
// raised: a test that swallows an exception changes nothing about how it is judged.
import { AsyncLocalStorage } from "node:async_hooks";

const MOST_CODES = 20;

// What a test may use, and the level that it costs: what is re-opened at most.
const LEVELS = {
  ...{ modules: 0, functions: 0, errors: 1, iteration: 1 },
  ...{ attributes: 2, classes: 2, "own-errors": 2, awaiting: 2 },
  ...{ callbacks: 3, "iterator-arguments": 3, "error-arguments": 3, "coroutine-arguments": 3 },
  "write-back": 4,
};

// An operation that must not leave the driver, or can't; `code` names the rule.
export class Refusal extends Error {
  constructor(code) {
    super(`isolated grading refuses this: ${code}`);
    this.name = "Refusal";
    this.code = code;
  }
}

// The candidate's process is gone, silent or out of step; `code` says which.
export class WorkerLost extends Error {
  constructor(code) {
    super(`the candidate's process was lost: ${code}`);
    this.name = "WorkerLost";
    this.code = code;
  }
}

// One test, or what happens outside of any.
export class Note {
  trips = 0;
  features = new Set();
  codes = new Set();
  unfit = new Set();
  lost = "";
  failedBack = false;
  calledBack = false;
  until = 0;
  results = new Map();
  arguments = new Map();

  get isClean() {
    return this.codes.size === 0 && this.lost === "" && !this.failedBack;
  }

  refuse(code, byTest) {
    this.codes.add(code);
    if (byTest) this.unfit.add(code);
    return new Refusal(code);
  }

  use(feature) {
    this.features.add(feature);
  }

  // As they are reported.
  get reported() {
    const codes = this.lost === "" ? [...this.codes] : [...this.codes, `lost-${this.lost}`];
    const features = [...this.features].sort();
    return {
      level: Math.max(0, ...features.map((feature) => LEVELS[feature])),
      features,
      trips: this.trips,
      codes: codes.sort().slice(0, MOST_CODES),
      unsupported: [...this.unfit].sort().slice(0, MOST_CODES),
    };
  }
}

// The tests that are running, each with its names from the outermost suite on.
export class Notes {
  #running = new AsyncLocalStorage();
  #inProgress = new Set();
  #ended = new Map();
  outside = new Note();
  active = 0;

  get current() {
    return this.#running.getStore()?.note ?? this.outside;
  }

  // Every one that may watch something that the candidate changes.
  get watching() {
    return new Set([this.outside, this.current, ...this.#inProgress]);
  }

  get names() {
    return this.#running.getStore()?.names ?? [];
  }

  // Runs `work` as a part of something with these names; `note` is null outside of tests.
  within(names, note, work) {
    return this.#running.run({ names, note: note ?? this.#running.getStore()?.note }, work);
  }

  // `work`, to be run later as if it were a part of what is running now.
  bound(work) {
    const store = this.#running.getStore();
    return (...values) => this.#running.run(store, work, ...values);
  }

  begin(note) {
    this.#inProgress.add(note);
    this.active++;
  }

  end(note, names) {
    this.#inProgress.delete(note);
    this.active--;
    const id = JSON.stringify(names);
    if (!this.#ended.has(id)) this.#ended.set(id, []);
    this.#ended.get(id).push(note);
  }

  // The note of a test that was reported with these names; undefined if it was never begun.
  ended(names) {
    return this.#ended.get(JSON.stringify(names))?.shift();
  }

  // A loss concerns whatever is running.
  lose(code) {
    for (const note of this.#concerned()) note.lost ||= code;
  }

  // A refusal of what some test does, where it is not known which one.
  refuse(code) {
    return [...this.#concerned()].map((note) => note.refuse(code, true))[0];
  }

  #concerned() {
    return this.#inProgress.size === 0 ? [this.current] : this.#inProgress;
  }
}

export const notes = new Notes();
