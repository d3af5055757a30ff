// Has the tests' `import` and `require` of the candidate's modules give what links.mjs knows.
import Module from "node:module";
import { dirname } from "node:path";
import { MessageChannel } from "node:worker_threads";

import { hooksHere } from "./hooks.mjs";
import { required, sourceOf } from "./links.mjs";
import { notes } from "./notes.mjs";
import { refusedPart, Resolution } from "./resolution.mjs";
import testing from "./testing.mjs";

export function installModules(paths, client) {
  const answer = ({ url, refused }) => {
    if (url !== undefined) return sourceOf(url);
    const { message } = notes.refuse(refused);
    return `throw new Error(${JSON.stringify(message)});`;
  };
  if (typeof Module.registerHooks === "function") Module.registerHooks(hooksHere(paths, answer));
  else registerThread(paths, answer);
  installRequire(new Resolution(paths), client);
}

function registerThread(paths, answer) {
  const { port1, port2 } = new MessageChannel();
  port1.on("message", ({ number, question }) => {
    port1.postMessage({ number, source: answer(question) });
  });
  port1.unref();
  Module.register(new URL("./hooks.mjs", import.meta.url), {
    data: { paths, channel: port2 },
    transferList: [port2],
  });
}

function installRequire(resolution, client) {
  const load = Module._load;
  Module._load = function (request, parent, ...rest) {
    const isTests = parent?.filename !== undefined && !parent.filename.startsWith("/assay/");
    if (!isTests || typeof request !== "string") return load.call(this, request, parent, ...rest);
    if (request === "node:test") return testing;
    const refused = refusedPart(request);
    if (refused !== undefined) throw client.refuse(refused, true);
    const path = resolution.required(request, dirname(parent.filename));
    if (path !== undefined) return required(path);
    return load.call(this, request, parent, ...rest);
  };
}
