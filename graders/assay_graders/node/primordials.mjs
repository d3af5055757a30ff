// The parts of the language that both sides use, taken before anything else has run.
//
// In the worker the candidate may replace any of them later, to do so is its right; what this
// program does with its values must not change by that.
import { Buffer, isUtf8 } from "node:buffer";
import { types } from "node:util";

const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const getter = (holder, name) => uncurry(Object.getOwnPropertyDescriptor(holder, name).get);

export const { isArray } = Array;
export const { is, isFrozen, freeze } = Object;
export const { isFinite, isInteger, isSafeInteger } = Number;
export const { parse, stringify } = JSON;
export const { apply, construct, defineProperty, get, getPrototypeOf, ownKeys } = Reflect;
export const descriptorOf = Reflect.getOwnPropertyDescriptor;
export const hasOwn = Object.hasOwn;
export const toText = String;
export const keyFor = Symbol.keyFor;
export const symbolFor = Symbol.for;
export const symbolText = getter(Symbol.prototype, "description");

export const mapGet = uncurry(Map.prototype.get);
export const mapHas = uncurry(Map.prototype.has);
export const mapSet = uncurry(Map.prototype.set);
export const mapDelete = uncurry(Map.prototype.delete);
export const mapClear = uncurry(Map.prototype.clear);
export const mapEach = uncurry(Map.prototype.forEach);
export const mapSize = getter(Map.prototype, "size");
export const weakGet = uncurry(WeakMap.prototype.get);
export const weakHas = uncurry(WeakMap.prototype.has);
export const weakSet = uncurry(WeakMap.prototype.set);
export const setAdd = uncurry(Set.prototype.add);
export const setHas = uncurry(Set.prototype.has);
export const setClear = uncurry(Set.prototype.clear);
export const setEach = uncurry(Set.prototype.forEach);

export const bigText = uncurry(BigInt.prototype.toString);
export const dateTime = uncurry(Date.prototype.getTime);
export const setTime = uncurry(Date.prototype.setTime);
export const regexSource = getter(RegExp.prototype, "source");
export const regexFlags = getter(RegExp.prototype, "flags");
export const matches = uncurry(RegExp.prototype.test);
export const promiseThen = uncurry(Promise.prototype.then);
export const textSlice = uncurry(String.prototype.slice);
export const startsWith = uncurry(String.prototype.startsWith);
export const functionText = uncurry(Function.prototype.toString);

const TypedArray = getPrototypeOf(Uint8Array.prototype);
export const viewBuffer = getter(TypedArray, "buffer");
export const viewOffset = getter(TypedArray, "byteOffset");
export const viewBytes = getter(TypedArray, "byteLength");
export const viewSet = uncurry(TypedArray.set);
export const bufferBytes = getter(ArrayBuffer.prototype, "byteLength");

export { Buffer, isUtf8, types };
export const fromBase64 = (text) => Buffer.from(text, "base64");
const base64Of = uncurry(Buffer.prototype.toString);
const bufferOver = Buffer.from.bind(Buffer);
export const toBase64 = (buffer, offset, length) =>
  base64Of(bufferOver(buffer, offset, length), "base64");
