import type { IncomingMessage } from "node:http";

import type { Random } from "../../../platform/random.ts";

/** What a client may choose as its request id; anything else gets one of ours. */
const ACCEPTED = /^[A-Za-z0-9._-]{1,64}$/;
const ID_BYTES = 12;

/** The id under which a request is found in the log: the client's `X-Request-Id` where it can be, else a new one. */
export function createRequestId(random: Random): (request: Pick<IncomingMessage, "headers">) => string {
  return ({ headers }) => {
    const given = headers["x-request-id"];
    if (typeof given === "string" && ACCEPTED.test(given)) return given;
    return Buffer.from(random.bytes(ID_BYTES)).toString("hex");
  };
}
