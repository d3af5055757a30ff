// Operations on the candidate's objects, as requests: read, call, construct, load.
import { replace, takeOver } from "./changes.mjs";
import { WireFault } from "./frames.mjs";
import { Scope } from "./kinds.mjs";
import * as p from "./primordials.mjs";
import * as words from "./words.mjs";

const { isPromise } = p.types;
const ITERATOR = function () {};
ITERATOR.prototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
const ITERATION = new Set([Symbol.iterator, Symbol.asyncIterator, "next", "done", "return"]);

const SEARCHES = new Set([
  ...["includes", "indexOf", "lastIndexOf", "startsWith", "endsWith", "localeCompare"],
]);

export class Exchange {
  #references;
  #watched;
  #crossed = new WeakMap();
  #modules = new WeakSet();

  constructor(client, references, watched) {
    this.client = client;
    this.#references = references;
    this.#watched = watched;
  }

  isCandidates(value) {
    return this.#references.isCandidates(value);
  }

  isArray(target) {
    return this.#references.recordOf(target).isArray === true;
  }

  // Which exchange brought or sent a copy; objects of one exchange are told apart rightly.
  exchangeOf(value) {
    return this.#crossed.get(value);
  }

  get(target, key) {
    const isKnown = this.#ownOf(target)?.find((own) => own.key === key && own.isData);
    if (isKnown) return isKnown.value;
    this.#use(
      this.#modules.has(target) ? "modules" : ITERATION.has(key) ? "iteration" : "attributes",
    );
    const value = this.#ask(words.GET, target, [key], (tree, decoder) => decoder.value(tree));
    this.#references.foundAt(value, target, key);
    // What is searched for may be an expected value. A list or a text would be a copy here.
    const isSearch = SEARCHES.has(key) && !this.#modules.has(target);
    if (isSearch && typeof value === "function") throw this.client.refuse("contains");
    return value;
  }

  // Has the same proxy stand for what a fresh worker has in the same place.
  again(target, key, value) {
    this.#ask(words.GET, target, [key], (tree, decoder) => {
      this.#references.rebind(value, tree);
      return decoder.value(tree);
    });
  }

  // What an object holds itself. As long as nothing else is asked, it is asked for once.
  own(target) {
    const known = this.#ownOf(target);
    if (known !== undefined) return known;
    this.#use("attributes");
    const own = this.#ask(words.OWN, target, [], (tree, decoder) => {
      if (!p.isArray(tree)) throw new WireFault("no list of properties");
      return tree.map((part) => readOwn(part, decoder));
    });
    this.#references.recordOf(target).own = { at: this.client.totalTrips, own };
    return own;
  }

  has(target, key) {
    this.#use("attributes");
    return this.#ask(words.KEYS, target, [], (tree, decoder) => {
      if (!p.isArray(tree)) throw new WireFault("no list of keys");
      return tree.map((part) => decoder.value(part)).includes(key);
    });
  }

  // Asked for once: who looks twice must see the same.
  parent(target) {
    const record = this.#references.recordOf(target);
    if (record.parent === undefined) record.parent = this.#parent(target);
    return record.parent;
  }

  #parent(target) {
    return this.#ask(words.PARENT, target, [], (tree, decoder) => {
      const found = decoder.value(tree);
      if (found !== null && typeof found !== "function" && typeof found !== "object") {
        throw new WireFault("no prototype of a function");
      }
      return found;
    });
  }

  prototype(number) {
    const target = ["#", "n", number];
    return this.client.request(words.PROTO, [target], (tree) => {
      if (!p.isArray(tree) || tree.length !== 5) throw new WireFault("no prototype");
      return this.#references.prototype(tree);
    });
  }

  linked(target) {
    return this.#references.linked(this.#references.recordOf(target));
  }

  call(target, receiver, values) {
    const { way } = this.#references.recordOf(target);
    const owner = p.types.isModuleNamespaceObject(receiver) ? undefined : receiver;
    const isPlain = owner === undefined || this.#modules.has(owner);
    const isStep = way !== undefined && ITERATION.has(way.key);
    this.#use(isPlain ? "functions" : isStep ? "iteration" : "attributes");
    return this.#called(words.CALL, target, owner, values);
  }

  construct(target, values) {
    this.#use("classes");
    return this.#called(words.NEW, target, undefined, values);
  }

  // The exports of a module as the worker's `import` has them: names and values. `known` are the
  // values of an earlier worker.
  imported(key, known = []) {
    this.#use("modules");
    return this.#request(words.IMPORT, [key], new Scope(), (tree) => {
      if (!p.isArray(tree)) throw new WireFault("no list of exports");
      return tree.map((part, at) => {
        if (!p.isArray(part) || part.length !== 2 || typeof part[0] !== "string") {
          throw new WireFault("no export");
        }
        if (at < known.length) this.#references.rebind(known[at], part[1]);
        return { name: part[0], value: this.read(part[1]) };
      });
    });
  }

  // What `require` gives in the worker.
  required(path, known) {
    this.#use("modules");
    const value = this.#request(words.REQUIRE, [path], new Scope(), (tree, decoder) => {
      this.#references.rebind(known, tree);
      return decoder.value(tree);
    });
    if (this.isCandidates(value)) this.#modules.add(value);
    return value;
  }

  // A value that comes along by itself, for a test.
  read(tree, note = this.client.note) {
    return this.#copied(this.#references.decoder(new Scope()).value(tree), note);
  }

  // What an export holds after a change: the same object as before, if it is one by value.
  exported(before, tree) {
    const value = this.#references.decoder(new Scope()).value(tree);
    const isCopy = typeof before === "object" && this.#crossed.has(before);
    if (!isCopy || typeof value !== "object" || !replace(before, value)) return this.#copied(value);
    for (const note of this.client.watching) this.#watched.refresh(note, before);
    return before;
  }

  // Tells how a promise of the driver's ended; whoever is gone need not know.
  settle(token, isFulfilled, value) {
    if (this.client.isLost) return;
    try {
      const tree = this.#tree(value, new Scope());
      this.client.request(words.SETTLE, [token, isFulfilled, tree], () => undefined);
    } catch {
      // It is noted.
    }
  }

  #ownOf(target) {
    const known = this.#references.recordOf(target)?.own;
    return known?.at === this.client.totalTrips ? known.own : undefined;
  }

  #use(feature) {
    this.client.note.use(feature);
  }

  #ask(word, target, operands, read) {
    const scope = new Scope();
    const trees = [target, ...operands].map((operand) => this.#tree(operand, scope));
    return this.#request(word, trees, scope, (tree, decoder) => {
      const value = read(tree, decoder);
      return word === words.GET ? this.#copied(value) : value;
    });
  }

  #request(word, trees, scope, read) {
    const decoder = this.#references.decoder(scope);
    return this.client.request(
      word,
      trees,
      (tree, changes) => {
        if (!p.isArray(changes) || changes.length > 0) throw new WireFault("changes of nothing");
        return read(tree, decoder);
      },
      (tree) => decoder.value(tree),
    );
  }

  #called(word, target, owner, values) {
    const scope = new Scope();
    const trees = values.map((value) => this.#tree(value, scope));
    const parts = [this.#tree(target, scope), this.#tree(owner, scope), trees];
    const { note } = this.client;
    const count = scope.objects.length;
    for (const value of [owner, ...values]) this.#watched.addArgument(note, this.client, value);
    for (const sent of scope.objects) this.#crossed.set(sent, scope);
    const decoder = this.#references.decoder(scope);
    const taken = (isResult) => (tree, changes) => {
      if (!p.isArray(changes)) throw new WireFault("no list of changes");
      if (changes.length > 0) {
        this.#use("write-back");
        takeOver(decoder, changes, count);
        for (const each of this.client.watching) this.#watched.refresh(each);
      }
      const result = decoder.value(tree);
      for (let at = count; at < scope.objects.length; at++) {
        this.#crossed.set(scope.objects[at], scope);
      }
      const isObject = isResult && this.isCandidates(result) && !isPromise(result);
      if (isObject && !ofIterators(result)) this.#use("attributes");
      if (!values.includes(result) && result !== owner) this.#watched.addResult(note, result);
      return result;
    };
    return this.client.request(word, parts, taken(true), taken(false));
  }

  #tree(value, scope) {
    try {
      return this.#references.encoder(scope).tree(value);
    } catch (fault) {
      throw fault instanceof WireFault ? this.client.refuse("argument-size") : fault;
    }
  }

  #copied(value, note = this.client.note) {
    if (typeof value === "object" && value !== null) this.#crossed.set(value, value);
    this.#watched.addResult(note, value);
    return value;
  }
}

// Whether an object is one that only gives its items.
const ofIterators = (value) => value instanceof ITERATOR;

function readOwn(part, decoder) {
  if (!p.isArray(part) || part.length !== 3 || !p.isArray(part[2]) || part[2].length > 1) {
    throw new WireFault("no property");
  }
  const key = decoder.value(part[0]);
  const isKey = typeof key === "string" || typeof key === "symbol";
  if (!isKey || typeof part[1] !== "boolean") throw new WireFault("no property");
  const isData = part[2].length === 1;
  const value = isData ? decoder.value(part[2][0]) : undefined;
  return { key, enumerable: part[1], isData, value };
}
