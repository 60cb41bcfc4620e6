import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";

import type { FastifyReply } from "fastify";

import type { Answer, AnyAnswer } from "./answers.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The refusal that the request was answered with. */
    refusal: Answer | null;
  }
}

/** Bytes counted for an answer in parts: about the first one, which is the largest, because only one is in memory at a time. */
const LONG_ANSWER_BYTES = 1024 * 1024;
/** Parts are streamed in pieces of this size, which is also the stream's buffer: an unread stream does not generate the next part. */
const PIECE_BYTES = 64 * 1024;

/** Sends an answer. As bytes: for a text the web framework would add `charset=utf-8`, which JSON does not have (RFC 8259, section 11). */
export function send(reply: FastifyReply, answer: AnyAnswer): FastifyReply {
  if (isRefusal(answer)) reply.request.refusal = answer;
  if (answer.headers !== undefined) reply.headers({ ...answer.headers });
  return reply.code(answer.status).header("content-type", "application/json").send(payloadOf(answer));
}

function payloadOf(answer: AnyAnswer): Uint8Array | Readable {
  if (!("parts" in answer)) return "bytes" in answer ? answer.bytes : Buffer.from(answer.json);
  return Readable.from(inPieces(answer.parts), { objectMode: false, highWaterMark: PIECE_BYTES });
}

async function* inPieces(parts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    const bytes = Buffer.from(part);
    for (let from = 0; from < bytes.byteLength; from += PIECE_BYTES) yield bytes.subarray(from, from + PIECE_BYTES);
  }
}

/** The bytes that an answer takes in memory. */
export function lengthOf(answer: AnyAnswer): number {
  if ("parts" in answer) return LONG_ANSWER_BYTES;
  return "bytes" in answer ? answer.bytes.byteLength : Buffer.byteLength(answer.json);
}

/** Statuses for errors of the client; all others are errors of the service. */
function isRefusal(answer: AnyAnswer): answer is Answer {
  return "json" in answer && answer.status >= 400 && answer.status < 500;
}

/** Reading the rest of a smaller body costs less than a new connection. Node reads this much at once, so it has often arrived with the headers. */
const READ_ANYWAY_BYTES = 64 * 1024;

/** Whether the request is answered before its body was read, and the body is too large to read and discard. */
export function hasUnreadBody({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  const { "content-length": length, "transfer-encoding": coding } = headers;
  return coding !== undefined || Number(length ?? 0) > READ_ANYWAY_BYTES;
}

/**
 * Closes the connection after its answer without reading the rest of the body. Node would read a refused body to its end.
 *
 * Closing a connection with unread bytes resets it, and the reset can overtake the answer (RFC 9112, 9.6). So only the sending side is
 * closed first, and the client has some time to read the answer, as in Go's net/http. Bytes that arrive meanwhile stay in the kernel's
 * bounded receive buffer.
 */
export function closeUnread(socket: Socket, lingerMs: number): void {
  // Called by Node when the answer is written.
  socket.destroySoon = () => {
    socket.end();
    socket.pause();
    // Node resumes it, to read the rest of the request.
    socket.on("resume", () => socket.pause());
    socket.setTimeout(lingerMs, () => socket.destroy());
  };
}
