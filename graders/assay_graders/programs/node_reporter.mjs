// Reporter of `node --test` that sends one report on the private channel.
//
// It runs in the process that starts the test files, which imports none of them.
import process from "node:process";

import { collected, errors, send, tests } from "./node_results.mjs";

export default async function* report(source) {
  yield* collected(source, process.env.ASSAY_TEST_BASE);
  send(Number(process.env.ASSAY_CHANNEL_REPORT), { schema: 1, tests, errors });
}
