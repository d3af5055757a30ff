// Frames on a descriptor: four bytes of length, big-endian, then UTF-8 text, all blocking.
import { readSync, writeSync } from "node:fs";

import { Buffer, isUtf8, parse } from "./primordials.mjs";

export const MAX_FRAME_BYTES = 16 * 1024 ** 2;

const HEADER = 4;
const CHUNK = 1 << 16;
const UNCOUNTED_BYTES = 1 << 20;
const MAX_PARTS = 2_000_000;
const PAUSE = new Int32Array(new SharedArrayBuffer(4));

const allocate = Buffer.allocUnsafeSlow;
const lengthOf = Buffer.byteLength;
const wait = Atomics.wait;
const bind = (name) => Function.prototype.call.bind(Buffer.prototype[name]);
const copy = bind("copy");
const put = bind("write");
const putLength = bind("writeUInt32BE");
const lengthAt = bind("readUInt32BE");
const textAt = bind("toString");
const part = bind("subarray");

export class WireFault extends Error {}

// Both directions of a connected descriptor. After a fault the position is unknown, so that
// every later call is a fault too.
export class FrameStream {
  #descriptor;
  #cap;
  #room = allocate(CHUNK);
  #held = 0;
  #broken = false;

  constructor(descriptor, cap = MAX_FRAME_BYTES) {
    this.#descriptor = descriptor;
    this.#cap = cap;
  }

  // Sends one frame: `head`, some bytes, and then `text`.
  send(text, head = "") {
    this.#usable();
    const size = head.length + lengthOf(text);
    if (size > this.#cap) throw new WireFault("a frame to send is larger than the cap");
    const frame = allocate(HEADER + size);
    putLength(frame, size, 0);
    put(frame, head, HEADER, "latin1");
    put(frame, text, HEADER + head.length, "utf8");
    this.#broken = true;
    for (let sent = 0; sent < frame.length; ) {
      sent += this.#step(writeSync, frame, sent, frame.length - sent);
    }
    this.#broken = false;
  }

  // The next frame's bytes, or null at the end of the stream. They are good until the next call.
  receive() {
    this.#usable();
    this.#broken = true;
    if (!this.#fill(HEADER)) {
      if (this.#held > 0) throw new WireFault("the stream ended inside a length");
      return null;
    }
    const size = lengthAt(this.#room, 0);
    if (size > this.#cap) throw new WireFault("a frame is larger than the cap");
    if (!this.#fill(HEADER + size)) throw new WireFault("the stream ended inside a frame");
    const frame = allocate(size);
    copy(this.#room, frame, 0, HEADER, HEADER + size);
    copy(this.#room, this.#room, 0, HEADER + size, this.#held);
    this.#held -= HEADER + size;
    if (this.#room.length > CHUNK && this.#held <= CHUNK) {
      const room = allocate(CHUNK);
      copy(this.#room, room, 0, 0, this.#held);
      this.#room = room;
    }
    this.#broken = false;
    return frame;
  }

  #usable() {
    if (this.#broken) throw new WireFault("the stream is out of step after an earlier fault");
  }

  #fill(wanted) {
    if (this.#room.length < wanted) {
      const room = allocate(wanted);
      copy(this.#room, room, 0, 0, this.#held);
      this.#room = room;
    }
    while (this.#held < wanted) {
      const read = this.#step(readSync, this.#room, this.#held, this.#room.length - this.#held);
      if (read === 0) return false;
      this.#held += read;
    }
    return true;
  }

  #step(move, bytes, from, count) {
    for (;;) {
      try {
        return move(this.#descriptor, bytes, from, count, null);
      } catch (error) {
        if (error.code === "EOF" || error.code === "ECONNRESET") return 0;
        if (error.code !== "EAGAIN") throw new WireFault("the other end is closed");
        wait(PAUSE, 0, 0, 1);
      }
    }
  }
}

// The JSON in bytes from `from` on. Whether there are objects in it, which no message has, is
// seen by who reads on.
export function parsed(bytes, from = 0) {
  const body = part(bytes, from);
  if (!isUtf8(body)) throw new WireFault("a frame is not UTF-8");
  if (body.length > UNCOUNTED_BYTES && partsOf(body) > MAX_PARTS) {
    throw new WireFault("a frame has too many parts");
  }
  try {
    return parse(textAt(body, "utf8"));
  } catch {
    throw new WireFault("a frame is not JSON");
  }
}

function partsOf(bytes) {
  let parts = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === 0x2c || byte === 0x5b || byte === 0x7b) parts++;
  }
  return parts;
}
