// Runs one unmodified test file with Node's test runner while the code under test is in another
// process.
//
// Started with one argument, a JSON object: `file` (relative to `base`), `base`, `modules`
// (absolute paths of the candidate's), `nan`, `call_seconds`, `test_seconds`, `max_trips` and
// `max_frame`. Sends one report when everything is over.
import process from "node:process";
import { pathToFileURL } from "node:url";

import { installAsserts } from "./asserts.mjs";
import { Client } from "./client.mjs";
import { Exchange } from "./exchange.mjs";
import { FrameStream } from "./frames.mjs";
import { closeCodePaths, processCheck } from "./guards.mjs";
import { Lent } from "./lent.mjs";
import { bindLinks, exported, loadAgain } from "./links.mjs";
import { installModules } from "./modules.mjs";
import { notes } from "./notes.mjs";
import { References } from "./references.mjs";
import { bindReport, fileFailed, sendReport } from "./reporter.mjs";
import { bindTests } from "./testing.mjs";
import { Waiting } from "./waiting.mjs";
import { Watched } from "./watched.mjs";

async function run(config, wire, channel) {
  const client = new Client(new FrameStream(wire, config.max_frame), notes, config.max_trips);
  const references = new References(client, config.nan);
  const watched = new Watched((scope) => references.brief(scope));
  const exchange = new Exchange(client, references, watched);
  const waiting = new Waiting(client, exchange, notes, config.call_seconds);
  const lent = new Lent(client, references, notes, (...end) => exchange.settle(...end));
  Object.assign(references, { exchange, lent, waiting, loadAgain });
  Object.assign(client.peer, {
    asked: processCheck(client),
    answered: () => waiting.goOn(),
    calledBack: (...parts) => lent.answer(...parts),
    exported,
    lost: (error) => waiting.lost(error),
    revived: () => references.forget(),
  });
  bindLinks(exchange);
  bindTests({ client, watched, waiting, suiteFailed: fileFailed, seconds: config.test_seconds });
  bindReport({ file: config.file, client });
  process.on("exit", (code) => {
    watched.end(notes.outside);
    sendReport(channel, code);
  });
  installModules(config.modules, client);
  installAsserts(client, exchange);
  closeCodePaths(client);
  client.revive(true);
  notes.active++;
  try {
    await import(pathToFileURL(`${config.base}/${config.file}`));
  } catch (error) {
    fileFailed(error);
  }
  notes.active--;
}

if (process.argv[2] !== "probe") {
  const { ASSAY_CHANNEL_WIRE: wire, ASSAY_CHANNEL_REPORT: report } = process.env;
  delete process.env.ASSAY_CHANNEL_WIRE;
  delete process.env.ASSAY_CHANNEL_REPORT;
  const config = JSON.parse(process.argv[2]);
  process.argv.length = 2;
  await run(config, Number(wire), Number(report));
}
