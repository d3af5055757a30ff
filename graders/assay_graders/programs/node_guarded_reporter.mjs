// Reporter of `node --test` for guarded runs: told a nonce first, it sends one report with it.
//
// It runs in the process that starts the test files, which imports none of them. What it finds
// of its own start is in `held`. Ids are as in node_reporter.mjs; the base comes with the nonce.
import { readFileSync, readSync, writeSync } from "node:fs";
import { relative } from "node:path";
import process from "node:process";
import { inspect } from "node:util";

const MESSAGE_CHARACTERS = 4_000;
const MESSAGES_CHARACTERS = 200_000;
const OPTIONS = /^--test(?:-concurrency=1|-reporter=\/assay\/\S+|-reporter-destination=stdout)?$/;

const channel = Number(process.env.ASSAY_CHANNEL_REPORT);
const { nonce, base, restored } = JSON.parse(receive().toString("utf8"));
const tests = [];
const errors = [];
let left = MESSAGES_CHARACTERS;

function receive() {
  const head = filled(Buffer.alloc(4));
  return filled(Buffer.alloc(head.readUInt32BE()));
}

function filled(buffer) {
  let at = 0;
  while (at < buffer.length) {
    try {
      const got = readSync(channel, buffer, at, buffer.length - at, null);
      if (got === 0) throw new Error("the channel ended");
      at += got;
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
  return buffer;
}

function isReadOnly(place) {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const found = mounts.map((line) => line.split(" ")).filter((fields) => fields[4] === place);
  return found.length > 0 && found.every((fields) => fields[5].split(",").includes("ro"));
}

function held() {
  const found = ["reporter-outside", "sub-tests"];
  if (process.execArgv.every((option) => OPTIONS.test(option))) found.push("no-preloads");
  const { NODE_OPTIONS, NODE_PATH, NODE_CHANNEL_FD } = process.env;
  if ([NODE_OPTIONS, NODE_PATH, NODE_CHANNEL_FD].every((value) => value === undefined)) {
    found.push("no-configuration");
  }
  if (!base.startsWith("/workspace") && isReadOnly(base)) found.push("tests-apart");
  return found;
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

function outcome(type, data) {
  if (data.todo !== undefined && data.todo !== false) return "xfailed";
  if (data.skip !== undefined && data.skip !== false) return "skipped";
  return type === "test:pass" ? "passed" : "failed";
}

function record(type, data, names) {
  const error = data.details?.error;
  const message = type === "test:fail" ? cut(inspect(error?.cause ?? error)) : "";
  const file = relative(base, data.file ?? "").toWellFormed();
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

function send(report) {
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

export default async function* report(source) {
  const guards = held();
  const names = [];
  for await (const { type, data } of source) {
    if (type === "test:start") {
      names.length = data.nesting;
      names[data.nesting] = data.name;
    } else if (type === "test:pass" || type === "test:fail") {
      yield record(type, data, [...names.slice(0, data.nesting), data.name]);
    } else if (type === "test:stdout" || type === "test:stderr") {
      yield data.message;
    }
  }
  const collected = tests.map((test) => test.id);
  const rest = { parts: [], errors, held: guards, strays: [], restored };
  send({ schema: 3, nonce, collected, tests, ...rest });
}
