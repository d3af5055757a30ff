// The driver's side of the exchange: one request, what is asked back, its answer.
//
// Whatever interrupts an exchange leaves the worker out of step, so it counts as lost and the
// next test gets a fresh one.
import { randomFillSync } from "node:crypto";
import { lstatSync } from "node:fs";
import { dirname } from "node:path";

import { MAX_FRAME_BYTES, parsed, WireFault } from "./frames.mjs";
import { Refusal, WorkerLost } from "./notes.mjs";
import * as words from "./words.mjs";

const MAX_NESTING = 40;
const MOST_MILLISECONDS = 2 ** 32 - 1;
const TEMPORARY = /(?<=")\/tmp\/[^"]*(?=")/g;
const now = performance.now.bind(performance);

export class Client {
  #stream;
  #notes;
  #maxTrips;
  #random = new Uint8Array(6 * 512);
  #used = this.#random.length;
  #nesting = 0;
  #answering = 0;
  #isLost = false;
  generation = 1;
  totalTrips = 0;
  faults = 0;
  isBusy = false;
  // Set by who knows what trees mean and what is lent.
  peer = { calledBack() {}, exported() {}, lost() {}, revived() {}, asked() {}, answered() {} };

  constructor(stream, notes, maxTrips) {
    this.#stream = stream;
    this.#notes = notes;
    this.#maxTrips = maxTrips;
  }

  get note() {
    return this.#notes.current;
  }

  get watching() {
    return this.#notes.watching;
  }

  get isLost() {
    return this.#isLost;
  }

  // A refusal to throw, noted for the test in progress. What a callback does is brought about by
  // the candidate too, so the test alone can't be made answer for it.
  refuse(code, byTest = false) {
    return this.note.refuse(code, byTest && this.#answering === 0);
  }

  // A fresh worker when the one before was lost, or when `isForced`.
  revive(isForced = false) {
    if (!this.#isLost && !isForced) return;
    this.#stream.send(words.RESTART);
    const answer = this.#stream.receive();
    if (answer === null || answer[0] !== words.ANSWER) throw this.lose("gone");
    this.#isLost = false;
    this.isBusy = false;
    if (isForced) return;
    this.generation++;
    this.peer.revived();
  }

  // Sends a request of trees; the answer's tree and its list of changes, by way of `read`, which
  // may throw WireFault. Throws what `raised` makes of the candidate's exception.
  request(word, parts, read, raised) {
    const { note } = this;
    this.peer.asked();
    if (this.#isLost) throw this.lose(note.lost || "gone");
    if (note.trips >= this.#maxTrips) throw this.lose("trips");
    if (this.#nesting >= MAX_NESTING) throw this.lose("nesting");
    const number = this.#number();
    const frame = this.#packed([number, word, ...parts]);
    const left = this.#left(note);
    note.trips++;
    this.totalTrips++;
    this.#nesting++;
    let isInStep = false;
    try {
      this.#send(frame, left);
      const answer = this.#answered(number);
      isInStep = true;
      return this.#outcome(answer, read, raised);
    } finally {
      this.#nesting--;
      if (!isInStep && !this.#isLost) this.lose("interrupted");
      this.peer.answered();
    }
  }

  // The worker is not to be used any more; an exception to throw, noted for the test.
  lose(code, cause) {
    const isNew = !this.#isLost;
    this.#isLost = true;
    this.isBusy = false;
    if (code === "protocol") this.faults++;
    this.#notes.lose(code);
    const error = new WorkerLost(code);
    if (cause !== undefined) error.cause = cause;
    if (isNew) this.peer.lost(error);
    return error;
  }

  // A number that the worker can't know before it is asked.
  #number() {
    if (this.#used === this.#random.length) {
      randomFillSync(this.#random);
      this.#used = 0;
    }
    let number = 0;
    for (let count = 0; count < 6; count++) number = number * 256 + this.#random[this.#used++];
    return number;
  }

  // A message as text; refused when it names what only this jail's /tmp has.
  #packed(message) {
    const text = JSON.stringify(message);
    if (text.includes('"/tmp/') && (text.match(TEMPORARY) ?? []).some(isOfThisJail)) {
      throw this.refuse("path");
    }
    return text;
  }

  #left(note) {
    if (!note.until) return 0;
    const left = Math.ceil(note.until - now());
    if (left > 0) return Math.min(left, MOST_MILLISECONDS);
    note.lost ||= "time";
    throw new WorkerLost("time");
  }

  #send(text, left) {
    const time = String.fromCharCode(left >>> 24, (left >>> 16) & 255, (left >>> 8) & 255, left & 255);
    try {
      this.#stream.send(text, words.FORWARD + time);
    } catch (fault) {
      if (Buffer.byteLength(text) > MAX_FRAME_BYTES) throw this.refuse("argument-size");
      throw this.lose("gone", fault);
    }
  }

  #received() {
    try {
      const envelope = this.#stream.receive();
      if (envelope === null) throw this.lose("gone");
      if (envelope[0] !== words.ANSWER) {
        const { until } = this.note;
        const code = envelope.toString("latin1", 1);
        throw this.lose(code === "silent" && until && now() >= until ? "time" : code || "gone");
      }
      const message = parsed(envelope, 1);
      if (!Array.isArray(message)) throw new WireFault("a message is no list");
      return message;
    } catch (fault) {
      if (fault instanceof WireFault) throw this.lose("protocol", fault);
      throw fault;
    }
  }

  #answered(number) {
    for (;;) {
      const message = this.#received();
      if (message[0] === number && message.length === 6) return message;
      if (!Number.isSafeInteger(message[0]) || message[0] >= 0) throw this.lose("protocol");
      this.#asked(message);
    }
  }

  #asked(message) {
    const [number, word, token, trees, exported] = message;
    if (message.length !== 5 || !Array.isArray(trees)) throw this.lose("protocol");
    this.#read(() => this.peer.exported(exported));
    this.note.use("callbacks");
    this.note.calledBack = true;
    this.#answering++;
    let answer;
    try {
      answer = this.#read(() => this.peer.calledBack(word, token, trees));
    } finally {
      this.#answering--;
    }
    this.#send(this.#packed([number, ...answer]), this.#left(this.note));
  }

  #outcome([, word, tree, changes, exported, isBusy], read, raised) {
    if (typeof isBusy !== "boolean") throw this.lose("protocol");
    this.isBusy = isBusy;
    if (word === words.OK) {
      const value = this.#read(() => read(tree, changes));
      this.#read(() => this.peer.exported(exported));
      return value;
    }
    if (word === words.RAISE) {
      this.note.use("errors");
      const error = this.#read(() => raised(tree, changes));
      this.#read(() => this.peer.exported(exported));
      throw error;
    }
    throw word === words.REFUSED ? this.refuse("value") : this.lose("protocol");
  }

  // Whatever reading stumbles over is the worker's doing.
  #read(work) {
    try {
      return work();
    } catch (fault) {
      const isKnown = fault instanceof WorkerLost || fault instanceof Refusal;
      throw isKnown ? fault : this.lose("protocol", fault);
    }
  }
}

// Whether a path leads to what only this jail has: files that a test made.
function isOfThisJail(path) {
  const folder = dirname(path);
  return exists(path) || (folder !== "/tmp" && exists(folder));
}

const exists = (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
