// Has the tests' `import` and `require` of the candidate's modules give what links.mjs knows.
import { existsSync, readFileSync } from "node:fs";
import Module from "node:module";
import { dirname, isAbsolute } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
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
  const { _load: load, _resolveFilename: find } = Module;
  const { _compile: compile } = Module.prototype;
  const { getBuiltinModule } = process;
  const own = (request) => {
    if (request === "node:test") return testing;
    const refused = refusedPart(request);
    if (refused !== undefined) throw client.refuse(refused, true);
    return undefined;
  };
  Module._load = function (request, parent, ...rest) {
    const isTests = parent?.filename !== undefined && !parent.filename.startsWith("/assay/");
    if (!isTests || typeof request !== "string") return load.call(this, request, parent, ...rest);
    const found = own(request);
    if (found !== undefined) return found;
    const path = resolution.required(request, dirname(parent.filename));
    if (path !== undefined) return required(path);
    const file = find.call(Module, request, parent);
    if (isAbsolute(file) && !resolution.isAllowed(pathToFileURL(file).href)) {
      throw client.refuse("code", true);
    }
    return load.call(this, request, parent, ...rest);
  };
  // Text becomes a module only where it is what a file of the tests holds.
  Module.prototype._compile = function (content, file, ...rest) {
    const text = existsSync(file) ? readFileSync(file, "utf8").replace(/^\ufeff/, "") : undefined;
    if (text !== content) {
      throw client.refuse("code", true);
    }
    return compile.call(this, content, file, ...rest);
  };
  if (getBuiltinModule !== undefined) {
    process.getBuiltinModule = (name) => own(name) ?? getBuiltinModule.call(process, name);
  }
}
