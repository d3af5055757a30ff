// What becomes of objects that cross the wire by value: each side has a copy, so what one does
// to its copy during a call is told to the other, object by object.
import { WireFault } from "./frames.mjs";
import { kindOf } from "./kinds.mjs";
import * as p from "./primordials.mjs";

// What all objects of a scope hold at present, as text. `encoder` names what goes by reference
// and tells nothing of it.
export function held(encoder) {
  const texts = [];
  const { objects } = encoder.scope;
  const count = objects.length;
  for (let at = 0; at < count; at++) texts[at] = p.stringify(encoder.content(objects[at]));
  return texts;
}

// Which of the first objects hold something else now: pairs of number and content.
export function changed(brief, encoder, before) {
  const { scope } = encoder;
  const changes = [];
  for (let at = 0; at < before.length; at++) {
    const met = scope.objects.length;
    const text = p.stringify(brief.content(scope.objects[at]));
    scope.cut(met);
    if (text !== before[at]) changes[changes.length] = [at, encoder.content(scope.objects[at])];
  }
  return changes;
}

// Does to this side's objects what the other side did to its own; raises WireFault.
export function takeOver(decoder, changes, count) {
  if (!p.isArray(changes)) throw new WireFault("no list of changes");
  for (let at = 0; at < changes.length; at++) {
    const change = changes[at];
    if (!p.isArray(change) || change.length !== 2) throw new WireFault("no change");
    const isKnown = p.isSafeInteger(change[0]) && change[0] >= 0 && change[0] < count;
    if (!isKnown) throw new WireFault("a change of something that was not sent");
    write(decoder.scope.objects[change[0]], decoder.content(change[1]));
  }
}

// Gives an object what another of its kind holds; whether that can be done.
export function replace(target, fresh) {
  try {
    write(target, fresh);
    return true;
  } catch (fault) {
    if (fault instanceof WireFault) return false;
    throw fault;
  }
}

function write(target, fresh) {
  const kind = kindOf(target, true);
  if (kind === "" || kind !== kindOf(fresh, true)) throw new WireFault("a change of kind");
  const writer = p.hasOwn(WRITERS, kind) ? WRITERS[kind] : writeBytes;
  try {
    writer(target, fresh);
  } catch (error) {
    if (error instanceof WireFault) throw error;
    throw new WireFault("a change of what can't change");
  }
}

function writeOwn(target, fresh) {
  const old = p.ownKeys(target);
  for (let at = old.length - 1; at >= 0; at--) {
    if (old[at] !== "length" && !delete target[old[at]]) throw new WireFault("a fixed property");
  }
  const keys = p.ownKeys(fresh);
  for (let at = 0; at < keys.length; at++) {
    if (keys[at] !== "length") p.defineProperty(target, keys[at], p.descriptorOf(fresh, keys[at]));
  }
}

function writeBytes(target, fresh) {
  const view = (value) =>
    p.types.isArrayBuffer(value)
      ? new Uint8Array(value)
      : new Uint8Array(p.viewBuffer(value), p.viewOffset(value), p.viewBytes(value));
  const [from, to] = [view(fresh), view(target)];
  if (p.viewBytes(from) !== p.viewBytes(to)) throw new WireFault("a change of size");
  p.viewSet(to, from);
}

const WRITERS = {
  __proto__: null,
  o: writeOwn,
  O: writeOwn,
  a(target, fresh) {
    if (target.length > fresh.length) target.length = fresh.length;
    writeOwn(target, fresh);
    target.length = fresh.length;
  },
  m(target, fresh) {
    p.mapClear(target);
    p.mapEach(fresh, (value, key) => p.mapSet(target, key, value));
  },
  s(target, fresh) {
    p.setClear(target);
    p.setEach(fresh, (value) => p.setAdd(target, value));
  },
  d: (target, fresh) => p.setTime(target, p.dateTime(fresh)),
  r(target, fresh) {
    if (p.regexSource(target) !== p.regexSource(fresh)) throw new WireFault("another pattern");
    target.lastIndex = fresh.lastIndex;
  },
};
