// Reporter of one test file that collects what its report says. It runs beside the tests, in a
// process without anything of the candidate's. An id is the file and the names from the outermost
// suite to the test, joined by " > ". Suites are reported only when they themselves fail.
import { writeSync } from "node:fs";
import { inspect } from "node:util";

import { Note, notes } from "./notes.mjs";

const MESSAGE_CHARACTERS = 4_000;
const MESSAGES_CHARACTERS = 200_000;

const FINE = new Set(["passed", "skipped", "xfailed"]);

const tests = [];
const errors = [];
const bound = { file: "", client: undefined };
let left = MESSAGES_CHARACTERS;

export function bindReport(parts) {
  Object.assign(bound, parts);
}

function cut(text) {
  const half = Math.floor(Math.min(MESSAGE_CHARACTERS, left) / 2);
  const kept =
    text.length > 2 * half
      ? `${text.slice(0, half)}\n[cut]\n${text.slice(text.length - half)}`
      : text;
  left = Math.max(0, left - kept.length);
  return kept.toWellFormed();
}

function textOf(error) {
  try {
    return inspect(error);
  } catch {
    return "an error that can't be shown";
  }
}

// Something outside of tests failed, so that the file as a whole did.
export function fileFailed(error) {
  errors.push({ file: bound.file, message: cut(textOf(error)) });
}

function outcome(type, data, note) {
  if (note !== undefined && note.unfit.size > 0) return "unsupported";
  if (data.todo !== undefined && data.todo !== false) return "xfailed";
  if (data.skip !== undefined && data.skip !== false) return "skipped";
  if (type === "test:fail") return "failed";
  return note === undefined ? "error" : note.isClean ? "passed" : "failed";
}

function record(type, data, names) {
  const error = data.details?.error;
  const message = type === "test:fail" ? cut(textOf(error?.cause ?? error)) : "";
  const isSuite = data.details?.type === "suite";
  const followsFromTests = type === "test:pass" || error?.failureType === "subtestsFailed";
  if (isSuite && followsFromTests) return "";
  const note = isSuite ? undefined : notes.ended(names);
  const id = [bound.file, ...names].join(" > ").toWellFormed();
  const { reported } = note ?? new Note();
  tests.push({ id, outcome: outcome(type, data, note), message, ...reported });
  return `${tests.at(-1).outcome} ${id}\n${message}${message && "\n"}`;
}

// Sends the report; nothing comes after it.
export function sendReport(channel, code) {
  const { outside } = notes;
  const { totalTrips: trips, faults } = bound.client;
  const { features, codes, unsupported } = outside.reported;
  if (unsupported.length === 0 && !outside.isClean) {
    fileFailed(new Error(`outside of tests: ${codes.join(", ")}`));
  }
  // Something failed when its test was over, and the runner says so in no other way.
  const isUnsaid = errors.length === 0 && tests.every(({ outcome }) => FINE.has(outcome));
  if (code !== 0 && isUnsaid) fileFailed(new Error(`the tests' process ended with ${code}`));
  const report = { schema: 3, tests, errors, features, unsupported, trips, faults };
  const body = Buffer.from(JSON.stringify(report), "utf8");
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  let frame = Buffer.concat([head, body]);
  while (frame.length > 0) frame = frame.subarray(writeSync(channel, frame));
}

export default async function* report(source) {
  const names = [];
  for await (const { type, data } of source) {
    if (type === "test:start") {
      names.length = data.nesting;
      names[data.nesting] = data.name;
    } else if (type === "test:pass" || type === "test:fail") {
      yield record(type, data, [...names.slice(0, data.nesting), data.name]);
    }
  }
}
