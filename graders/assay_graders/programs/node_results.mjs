// What `node --test` says of test files, as a report has it: one entry for each test.
//
// An id is the file relative to the base and the names from the outermost suite to the test, joined
// by " > ". Suites are reported only when they themselves fail.
import { writeSync } from "node:fs";
import { relative } from "node:path";
import { inspect } from "node:util";

const MESSAGE_CHARACTERS = 4_000;
const MESSAGES_CHARACTERS = 200_000;

export const tests = [];
export const errors = [];
let left = MESSAGES_CHARACTERS;

function cut(text) {
  const half = Math.floor(Math.min(MESSAGE_CHARACTERS, left) / 2);
  const kept =
    text.length > 2 * half
      ? `${text.slice(0, half)}\n[cut]\n${text.slice(text.length - half)}`
      : text;
  left = Math.max(0, left - kept.length);
  return kept.toWellFormed();
}

function outcome(type, data) {
  if (data.todo !== undefined && data.todo !== false) return "xfailed";
  if (data.skip !== undefined && data.skip !== false) return "skipped";
  return type === "test:pass" ? "passed" : "failed";
}

function record(place, type, data, names) {
  const error = data.details?.error;
  const message = type === "test:fail" ? cut(inspect(error?.cause ?? error)) : "";
  const file = relative(place, data.file ?? "").toWellFormed();
  if (data.nesting === 0 && data.name === data.file) {
    if (type === "test:fail") errors.push({ file, message });
    return `${type === "test:fail" ? "error" : "loaded"} ${file}\n${message}\n`;
  }
  const followsFromTests = type === "test:pass" || error?.failureType === "subtestsFailed";
  if (data.details?.type === "suite" && followsFromTests) return "";
  const id = [file, ...names].join(" > ").toWellFormed();
  tests.push({ id, outcome: outcome(type, data), message });
  return `${tests.at(-1).outcome} ${id}\n${message}${message && "\n"}`;
}

// Collects what the runner tells, and gives a readable log of it.
export async function* collected(source, place) {
  const names = [];
  for await (const { type, data } of source) {
    if (type === "test:start") {
      names.length = data.nesting;
      names[data.nesting] = data.name;
    } else if (type === "test:pass" || type === "test:fail") {
      yield record(place, type, data, [...names.slice(0, data.nesting), data.name]);
    } else if (type === "test:stdout" || type === "test:stderr") {
      yield data.message;
    }
  }
}

// Sends one report on the private channel.
export function send(channel, report) {
  const body = Buffer.from(JSON.stringify(report), "utf8");
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  let frame = Buffer.concat([head, body]);
  while (frame.length > 0) {
    try {
      frame = frame.subarray(writeSync(channel, frame));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}
