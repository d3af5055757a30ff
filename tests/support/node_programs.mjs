// One long-lived process for tests of the modules that isolated Node tests are made of.
//
//     node node_programs.mjs FOLDER codec        lines of base 64 in, one line of JSON out for each
//     node node_programs.mjs FOLDER client FD    the driver's client on a descriptor; "ask N" lines
import { readSync, writeSync } from "node:fs";

const [, , folder, role, descriptor] = process.argv;
const load = (name) => import(`${folder}/${name}.mjs`);
const { FrameStream, parsed, WireFault } = await load("frames");
const { Scope } = await load("kinds");

function codec({ Decoder, Encoder }, line) {
  const refuse = () => {
    throw new WireFault("a reference");
  };
  const decode = { nan: true, resolve: refuse };
  const encode = { nan: true, functions: true, special: () => undefined, other: refuse };
  try {
    const value = new Decoder(new Scope(), decode).value(parsed(Buffer.from(line, "base64")));
    return { tree: new Encoder(new Scope(), encode).tree(value), polluted: "polluted" in {} };
  } catch (error) {
    return error instanceof WireFault ? { fault: error.message } : { crash: String(error.stack) };
  }
}

async function client() {
  const { Client } = await load("client");
  const { Note } = await load("notes");
  const notes = { current: new Note(), outside: new Note(), lose: (c) => (notes.current.lost ||= c) };
  const made = new Client(new FrameStream(Number(descriptor), (16 << 20) + 5), notes, 1000);
  const nothing = () => {
    throw new WireFault("nothing was lent");
  };
  Object.assign(made.peer, { calledBack: nothing, exported: (list) => list.length && nothing() });
  const read = (tree, changes) => {
    if (!Number.isInteger(tree) || changes.length !== 0) throw new WireFault("no number");
    return tree;
  };
  return (line) => {
    const [word, value] = line.split(" ");
    if (word === "begin") notes.current = new Note();
    let answer = null;
    try {
      if (word === "begin") made.revive();
      answer = made.request("f", [Number(value)], read, nothing);
    } catch {
      answer = null;
    }
    return { answer, lost: notes.current.lost };
  };
}

const modules = role === "codec" ? { ...(await load("decode")), ...(await load("encode")) } : {};
const work = role === "codec" ? (line) => codec(modules, line) : await client();
let held = "";
const room = Buffer.alloc(1 << 16);
for (;;) {
  const at = held.indexOf("\n");
  if (at < 0) {
    const count = readSync(0, room);
    if (count === 0) break;
    held += room.toString("latin1", 0, count);
    continue;
  }
  const answer = Buffer.from(`${JSON.stringify(work(held.slice(0, at)))}\n`);
  for (let sent = 0; sent < answer.length; ) sent += writeSync(1, answer, sent);
  held = held.slice(at + 1);
}
