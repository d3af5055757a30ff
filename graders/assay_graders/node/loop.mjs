// The worker's event loop, which runs only while the driver waits: promises that went out, and
// how long the process would go on by itself.
import process from "node:process";

import * as p from "./primordials.mjs";

const { setImmediate, setTimeout, clearTimeout } = globalThis;
const now = performance.now.bind(performance);
const resources = process.getActiveResourcesInfo.bind(process);
const OwnPromise = Promise;
const turn = () => new OwnPromise((resolve) => setImmediate(resolve));
// Streams of the process itself, which keep nothing waiting.
const IDLE = new Set(["PipeWrap", "TTYWrap"]);

export class Loop {
  #settled = [];
  #wake = () => {};
  #isWoken = false;

  // Has the end of a promise told to the driver in time.
  watch(promise, number) {
    p.promiseThen(
      promise,
      (value) => this.#settle(number, true, value),
      (error) => this.#settle(number, false, error),
    );
  }

  // Runs until a promise ends or something was asked of the driver, or so many milliseconds.
  async run(milliseconds) {
    const until = now() + milliseconds;
    await turn();
    while (this.#settled.length === 0 && !this.#isWoken && now() < until && this.isBusy()) {
      await new OwnPromise((resolve) => {
        const timer = setTimeout(resolve, until - now());
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      await turn();
    }
    this.#isWoken = false;
  }

  // Ends `run` soon: the driver has something to do.
  wake() {
    this.#isWoken = true;
    this.#wake();
  }

  // What ended since the last time: number, whether well, and with what.
  take() {
    const settled = this.#settled;
    this.#settled = [];
    return settled;
  }

  isBusy() {
    const active = resources();
    for (let at = 0; at < active.length; at++) if (!p.setHas(IDLE, active[at])) return true;
    return false;
  }

  #settle(number, isFulfilled, value) {
    this.#settled[this.#settled.length] = { number, isFulfilled, value };
    this.#wake();
  }
}
