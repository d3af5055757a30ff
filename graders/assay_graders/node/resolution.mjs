// Which module a test asks for: the candidate's, for exactly the files that the graded tree has
// below the roots; a file beside the tests; a part of Node. Nothing else is loaded.
const OWN = "file:///assay/";
const FOLDERS = ["file:///workspace/", "file:///hidden/"];
const EXTENSIONS = ["", ".js", ".json", ".node", "/index.js"];
const TESTING = `${OWN}testing.mjs`;
// Parts of Node that make code from text, start something beside, or reach into the loader.
const REFUSED = new Map([
  ...["vm", "repl", "inspector", "inspector/promises", "wasi"].map((name) => [name, "code"]),
  ...["child_process", "cluster"].map((name) => [name, "subprocess"]),
  ["worker_threads", "thread"],
]);

export class Resolution {
  #paths;

  // `paths` are the absolute paths of the candidate's modules.
  constructor(paths) {
    this.#paths = new Set(paths);
  }

  // What an import leads to: a URL of the candidate's or of this program, a code of a refusal, or
  // nothing that this knows of.
  imported(specifier, parent) {
    if (parent?.startsWith(OWN)) return {};
    if (specifier === "node:test") return { url: TESTING };
    const refused = refusedPart(specifier);
    if (refused !== undefined) return { refused };
    if (!/^(?:[./]|[a-z]+:)/i.test(specifier)) return {};
    try {
      const url = new URL(specifier, parent);
      if (url.protocol === "data:" || url.protocol === "blob:") return { refused: "code" };
      return this.isCandidates(url.href) ? { url: url.href, isCandidates: true } : {};
    } catch {
      return {};
    }
  }

  // The path of the candidate's module that `require` leads to, or undefined.
  required(request, folder) {
    if (!/^\.{0,2}\//.test(request)) return undefined;
    const base = new URL(encodeURI(request), `file://${encodeURI(folder)}/`).pathname;
    const place = decodeURIComponent(base).replace(/\/$/, "");
    return EXTENSIONS.map((extension) => place + extension).find((path) => this.#paths.has(path));
  }

  isCandidates(href) {
    const url = new URL(href);
    return url.protocol === "file:" && this.#paths.has(decodeURIComponent(url.pathname));
  }

  // Whether a file that was found may be loaded by a test.
  isAllowed(href) {
    return !href.startsWith("file:") || FOLDERS.some((folder) => href.startsWith(folder));
  }
}

export const refusedPart = (specifier) => REFUSED.get(specifier.replace(/^node:/, ""));
