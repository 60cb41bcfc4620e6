import { pipeline, Readable } from "node:stream";
import { constants, createGzip } from "node:zlib";

import type { FastifyReply, FastifyRequest } from "fastify";

import type { Operation } from "../../../api/wire/operation.ts";
import { CredentialEndedError } from "../auth/credentials.ts";
import type { Passage } from "../traffic/traffic.ts";
import type { Answer, AnyAnswer } from "./answers.ts";

/** Smaller answers fit into one or two packets uncompressed. */
const ZIPPED_BYTES = 2048;

/** Bytes counted for an answer in parts: about the first one, which is the largest, because only one is in memory at a time. */
const LONG_ANSWER_BYTES = 1024 * 1024;
/** Parts are streamed in pieces of this size, which is also the stream's buffer: an unread stream does not generate the next part. */
const PIECE_BYTES = 64 * 1024;

const refusals = new WeakMap<FastifyRequest, Answer>();

/** Sends an answer as it is. */
export function send(reply: FastifyReply, answer: AnyAnswer): FastifyReply {
  if (isRefusal(answer)) refusals.set(reply.request, answer);
  return sendPayload(reply, answer, payloadOf(answer));
}

/** The refusal of a request; undefined if it was not refused. */
export function refusalOf(request: FastifyRequest): Answer | undefined {
  return refusals.get(request);
}

/**
 * Sends an answer compressed with gzip: lists are most of a console's traffic. Only for read operations, whose answers contain no secret
 * that an attacker could guess from the compressed length (BREACH).
 */
export function sendZipped(reply: FastifyReply, answer: AnyAnswer): FastifyReply {
  const payload = payloadOf(answer);
  if (payload instanceof Uint8Array && payload.byteLength < ZIPPED_BYTES) {
    return sendPayload(reply, answer, payload);
  }
  const zipped = createGzip({ level: constants.Z_BEST_SPEED });
  // An error destroys the compressed stream, which the web framework handles.
  pipeline(payload instanceof Uint8Array ? Readable.from([payload]) : payload, zipped, () => {});
  return sendPayload(reply.header("content-encoding", "gzip"), answer, zipped);
}

/** Sent as bytes: for a text the web framework would add `charset=utf-8`, which JSON does not have (RFC 8259, section 11). */
function sendPayload(
  reply: FastifyReply,
  { status, headers }: AnyAnswer,
  payload: Uint8Array | Readable,
): FastifyReply {
  return reply
    .code(status)
    .headers({ ...headers })
    .header("content-type", "application/json")
    .send(payload);
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

/**
 * The answer, counted while it is sent, or a refusal when the client has too many unread answers.
 *
 * @param hasEnded whether the client's credential has ended; checked now and then during a long answer.
 */
export function counted(
  answer: AnyAnswer,
  passage: Passage,
  method: Operation["method"],
  hasEnded: () => Promise<boolean>,
): AnyAnswer {
  const bytes = lengthOf(answer);
  if (method === "GET") {
    const refusal = passage.answer(bytes);
    if (refusal !== null) return refusal;
  } else {
    passage.report(bytes);
  }
  return "parts" in answer ? { ...answer, parts: patientParts(answer.parts, passage, hasEnded) } : answer;
}

function lengthOf(answer: AnyAnswer): number {
  if ("parts" in answer) return LONG_ANSWER_BYTES;
  return "bytes" in answer ? answer.bytes.byteLength : Buffer.byteLength(answer.json);
}

async function* patientParts(
  parts: AsyncIterable<string>,
  passage: Passage,
  hasEnded: () => Promise<boolean>,
): AsyncGenerator<string> {
  let sinceExtended = 0;
  for await (const part of parts) {
    if (sinceExtended >= LONG_ANSWER_BYTES) {
      // Closes the connection, so that no client takes the answer for complete.
      if (await hasEnded()) throw new CredentialEndedError();
      passage.extend();
      sinceExtended = 0;
    }
    yield part;
    sinceExtended += part.length;
  }
}

/** Statuses for errors of the client; all others are errors of the service. */
function isRefusal(answer: AnyAnswer): answer is Answer {
  return "json" in answer && answer.status >= 400 && answer.status < 500;
}

/** The content codings that a client takes, by its `Accept-Encoding` (RFC 9110, 12.5.3), in lower case. */
export function acceptedCodings(acceptEncoding: string | undefined): ReadonlySet<string> {
  return new Set((acceptEncoding ?? "").toLowerCase().split(",").flatMap(acceptedCoding));
}

/** `gzip;q=0` is one that is not taken. */
function acceptedCoding(member: string): readonly string[] {
  const [coding = "", ...parameters] = member.split(";").map((part) => part.trim());
  return parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter)) ? [] : [coding];
}
