// `node:assert` compares in this process, on data; what it may not be given is refused before. Two
// sides that are both the candidate's prove nothing, and neither does the identity of copies.
import assert from "node:assert";
import { syncBuiltinESMExports } from "node:module";
import util from "node:util";
import { isMap, isNativeError, isProxy, isSet } from "node:util/types";

import { snapshotOf } from "./snapshots.mjs";

const IDENTITY = ["equal", "notEqual", "strictEqual", "notStrictEqual"];
const CONTENT = [
  ...["deepEqual", "notDeepEqual", "deepStrictEqual", "notDeepStrictEqual"],
  "partialDeepStrictEqual",
];
const EXPECTING = ["throws", "rejects", "doesNotThrow", "doesNotReject"];
const MOST = 100_000;

export function installAsserts(client, exchange) {
  const holds = (value) => holdsCandidates(value, exchange, new Set());
  const compare = (actual, expected) => {
    if (isData(actual) || isData(expected)) return;
    if (holds(actual) && holds(expected)) throw client.refuse("self-compare");
  };
  const content = (values) => {
    compare(...values);
    return values.map((value, at) =>
      at < 2 && holds(value) ? snapshotOf(value, exchange) : value,
    );
  };
  const identity = (actual, expected) => {
    if (isData(actual) || isData(expected)) return;
    compare(actual, expected);
    const [one, other] = [exchange.exchangeOf(actual), exchange.exchangeOf(expected)];
    const areCopies = one !== undefined && other !== undefined && one !== other;
    if (areCopies) throw client.refuse("identity");
  };
  // A function as what is expected judges the exception, unless it is a class of errors.
  const expecting = (_, expected) => {
    if (isData(expected) || !holds(expected)) return;
    const isErrors = typeof expected === "function" && Error.isPrototypeOf(expected);
    if (!isErrors) throw client.refuse("self-compare");
  };
  const checked = (check) => (values) => {
    check(...values);
    return values;
  };
  for (const holder of [assert, assert.strict, assert.Assert?.prototype ?? {}]) {
    for (const name of IDENTITY) guard(holder, name, checked(identity));
    for (const name of CONTENT) guard(holder, name, content);
    for (const name of EXPECTING) guard(holder, name, checked(expecting));
  }
  guard(util, "isDeepStrictEqual", content);
  syncBuiltinESMExports();
}

function guard(holder, name, prepare) {
  const original = holder[name];
  if (typeof original !== "function" || original.isGuarded) return;
  const made = {
    [name](...values) {
      return Reflect.apply(original, this, prepare(values));
    },
  }[name];
  made.isGuarded = true;
  holder[name] = made;
}

const isData = (value) =>
  value === null || (typeof value !== "object" && typeof value !== "function");

// Whether something of the candidate's is in a value. Looking at what is not is no matter of the
// candidate's.
function holdsCandidates(value, exchange, seen) {
  if (typeof value === "symbol" || !isData(value)) {
    if (exchange.isCandidates(value)) return true;
  }
  if (isData(value) || seen.has(value) || isProxy(value)) return false;
  if (seen.size > MOST) return true;
  seen.add(value);
  const within = (part) => holdsCandidates(part, exchange, seen);
  if (isMap(value) && [...value].some(([key, item]) => within(key) || within(item))) return true;
  if (isSet(value) && [...value].some(within)) return true;
  if (ArrayBuffer.isView(value)) return false;
  const keys = typeof value === "function" && !isNativeError(value) ? [] : Reflect.ownKeys(value);
  return keys.some((key) => {
    const own = Reflect.getOwnPropertyDescriptor(value, key);
    return own !== undefined && "value" in own && within(own.value);
  });
}
