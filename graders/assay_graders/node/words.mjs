// The words of the exchange, and the layers around it.
//
// One conversation, strictly alternating. The driver asks the host in envelopes: one letter and,
// for FORWARD, four bytes of time and a message that the host hands to the worker unread. The
// host answers with ANSWER and the worker's message, or with LOST and one word. A message is a
// list: a number that the answer must repeat, a word, and what belongs to it.
export const FORWARD = "F";
export const RESTART = "R";
export const ANSWER = "A".charCodeAt(0);

// What the driver asks.
export const IMPORT = "import";
export const REQUIRE = "require";
export const GET = "get";
export const OWN = "own";
export const KEYS = "keys";
export const PARENT = "parent";
export const PROTO = "proto";
export const CALL = "call";
export const NEW = "new";
export const WAIT = "wait";
export const SETTLE = "settle";

// How a message answers, or asks in the middle of a call.
export const OK = "ok";
export const RAISE = "raise";
export const REFUSED = "refused";
export const CALL_BACK = "call-back";
export const NEXT_BACK = "next-back";
