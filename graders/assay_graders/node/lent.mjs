// What a test may hand to the candidate, and what stands for it there. Nothing that is handed
// over exposes an object of the driver.
import assert from "node:assert";

import { builtinName } from "./builtins.mjs";
import { changed, held } from "./changes.mjs";
import { WireFault } from "./frames.mjs";
import { Scope } from "./kinds.mjs";
import { WorkerLost } from "./notes.mjs";
import * as p from "./primordials.mjs";
import * as words from "./words.mjs";

const ITERATOR = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));

export class Lent {
  #client;
  #references;
  #notes;
  #settle;
  #tokens = new Map();
  #values = [undefined];
  #holders = [undefined];
  #lenders = [undefined];
  #iterators = new Set();

  // `settle(token, isFulfilled, value)` tells the worker how a promise of the driver's ended.
  constructor(client, references, notes, settle) {
    this.#client = client;
    this.#references = references;
    this.#notes = notes;
    this.#settle = settle;
  }

  // The token of an object, which is kept from now on.
  token(value, holder) {
    let token = this.#tokens.get(value);
    if (token === undefined) {
      token = this.#values.length;
      this.#tokens.set(value, token);
      this.#values.push(value);
      this.#holders.push(holder);
      this.#lenders.push(undefined);
    }
    return token;
  }

  // The same for what a test hands over: what it does is done as a part of that test.
  #lend(value, holder) {
    const token = this.token(value, holder);
    const { note } = this.#client;
    this.#lenders[token] = { note, within: this.#notes.bound((work) => work()) };
    return token;
  }

  // The object of a token that the worker sent; throws WireFault.
  given(token) {
    const isKnown = Number.isSafeInteger(token) && token > 0 && token < this.#values.length;
    if (!isKnown) throw new WireFault("a reference to something that was never lent");
    return this.#values[token];
  }

  // The reference for what is no value; throws Refusal.
  payload(value, encoder) {
    if (typeof value === "function") return this.#function(value, encoder);
    if (p.types.isPromise(value)) return this.#promise(value);
    if (p.types.isNativeError(value)) return this.errorPayload(value);
    if (typeof value === "object" && !p.types.isProxy(value) && isIterator(value)) {
      this.#client.note.use("iterator-arguments");
      this.#iterators.add(value);
      return ["#", "I", this.#lend(value)];
    }
    throw this.#client.refuse("argument", true);
  }

  // An error by its nearest built-in class. What a failed assertion says may hold expected values,
  // and what a class of the test's says too, so those say nothing.
  errorPayload(error) {
    this.#client.note.use("error-arguments");
    let proto = Object.getPrototypeOf(error);
    const isOwn = builtinName(proto) === undefined;
    while (builtinName(proto) === undefined || !(proto === Error.prototype || isErrorProto(proto))) {
      proto = Object.getPrototypeOf(proto);
    }
    const tells = !isOwn && !(error instanceof assert.AssertionError);
    const message = tells && typeof error.message === "string" ? error.message : null;
    return ["#", "R", this.token(error), message, builtinName(proto)];
  }

  // Answers what the worker asks in the middle of a call: word, tree, changes.
  answer(word, token, trees) {
    this.given(token);
    const lender = this.#lenders[token];
    if (lender === undefined) throw new WireFault("something asked of what was never handed over");
    return lender.within(() => this.#answer(word, token, trees, lender.note));
  }

  #answer(word, token, trees, note) {
    note.use("callbacks");
    const scope = new Scope();
    const decoder = this.#references.decoder(scope);
    const values = trees.map((tree) => decoder.value(tree));
    const before = held(this.#references.brief(scope));
    const work = this.#work(word, token, values);
    let how = words.OK;
    let result;
    try {
      result = work();
      return [how, this.#tree(result, scope), this.#changed(scope, before)];
    } catch (error) {
      if (error instanceof WorkerLost) throw error;
      how = words.RAISE;
      result = error;
    }
    this.failed(result, note);
    return [how, this.#tree(result, scope), this.#changed(scope, before)];
  }

  // The verdict of an assertion must not be in the candidate's hands.
  failed(error, note) {
    if (error instanceof assert.AssertionError) this.#notes.failBack(note);
  }

  #changed(scope, before) {
    const { brief, encoder } = this.#references;
    const references = this.#references;
    return changed(brief.call(references, scope), encoder.call(references, scope), before);
  }

  #tree(value, scope) {
    try {
      return this.#references.encoder(scope).tree(value);
    } catch (fault) {
      throw fault instanceof WireFault ? this.#client.refuse("argument-size") : fault;
    }
  }

  #work(word, token, values) {
    const value = this.given(token);
    if (word === words.CALL_BACK && typeof value === "function") {
      return () => Reflect.apply(value, this.#holders[token], values);
    }
    if (word === words.NEXT_BACK && values.length === 0 && this.#iterators.has(value)) {
      return () => value.next();
    }
    throw new WireFault("something asked that nothing lent can do");
  }

  #function(value, encoder) {
    if (/^class\b/.test(p.functionText(value))) throw this.#client.refuse("class", true);
    this.#client.note.use("callbacks");
    const { name, length } = value;
    const token = this.#lend(value, encoder.holder);
    return ["#", "F", token, typeof name === "string" ? name : "", length >>> 0];
  }

  #promise(value) {
    this.#client.note.use("coroutine-arguments");
    const { note } = this.#client;
    const isNew = !this.#tokens.has(value);
    const token = this.token(value);
    const tell = (isFulfilled) =>
      this.#notes.bound((result) => {
        if (!isFulfilled) this.failed(result, note);
        this.#settle(token, isFulfilled, result);
      });
    if (isNew) p.promiseThen(value, tell(true), tell(false));
    return ["#", "P", token];
  }
}

function isIterator(value) {
  if (p.types.isGeneratorObject(value)) return !(Symbol.asyncIterator in value);
  return ITERATOR.isPrototypeOf(value);
}

const isErrorProto = (proto) => Error.prototype.isPrototypeOf(proto);
