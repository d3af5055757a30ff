// Reporter of `node --test` for guarded runs: told a nonce first, it sends one report with it.
//
// It runs in the process that starts the test files, which imports none of them. What it finds
// of its own start is in `held`. The base comes with the nonce.
import { readFileSync, readSync } from "node:fs";
import process from "node:process";

import { collected, errors, send, tests } from "./node_results.mjs";

const OPTIONS = /^--test(?:-concurrency=1|-reporter=\/assay\/\S+|-reporter-destination=stdout)?$/;

const channel = Number(process.env.ASSAY_CHANNEL_REPORT);
const { nonce, base, restored } = JSON.parse(receive().toString("utf8"));

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

export default async function* report(source) {
  const guards = held();
  yield* collected(source, base);
  const ids = tests.map((test) => test.id);
  const rest = { parts: [], errors, held: guards, strays: [], restored };
  send(channel, { schema: 3, nonce, collected: ids, tests, ...rest });
}
