import { lookup as systemLookup } from "node:dns";
import { once } from "node:events";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import { addAbortSignal } from "node:stream";
import { setTimeout } from "node:timers/promises";

import { errorCode } from "./files/files.ts";

/** RFC 8305 section 5, "Connection Attempt Delay". */
const NEXT_ADDRESS_MS = 250;
/** More addresses of one host are not tried. */
export const ADDRESS_LIMIT = 16;

/**
 * Connects to a host by the first of its addresses that accepts (RFC 8305). An address gets all the time until `signal` aborts: Node gives up
 * an address before it tries the next one, so that over a slow link the one that works is lost when another is unreachable
 * (https://github.com/nodejs/node/issues/54359).
 *
 * @returns a socket that an abort closes, also later.
 * @throws the reason of the signal, the error of the lookup, or what `connectToFirst` throws.
 */
export async function connectTcp(
  host: string,
  port: number,
  signal: AbortSignal,
  lookup: LookupFunction = systemLookup,
): Promise<Socket> {
  signal.throwIfAborted();
  return connectToFirst(isIP(host) === 0 ? await lookUp(host, lookup, signal) : [host], port, signal);
}

/**
 * As `connectTcp`, for addresses that are known.
 *
 * @throws the error of the first address; rather that of one which refuses: it was reached, while to others there may be no route.
 */
export async function connectToFirst(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Socket> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  let turn: Promise<unknown> = Promise.resolve();
  const attempts = addresses.slice(0, ADDRESS_LIMIT).map((address) => {
    const attempt = turn.then(() => tryAddress(address, port, either));
    const failure = attempt.then(
      () => new Promise(() => {}),
      () => {},
    );
    const time = turn.then(() => setTimeout(NEXT_ADDRESS_MS, undefined, { signal: either })).catch(() => {});
    turn = Promise.race([failure, time]);
    return attempt;
  });
  try {
    return addAbortSignal(signal, await Promise.any(attempts));
  } catch (error) {
    signal.throwIfAborted();
    const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
    throw errors.find((one) => errorCode(one) === "ECONNREFUSED") ?? errors[0];
  } finally {
    over.abort();
  }
}

async function tryAddress(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({ host, port, noDelay: true });
  // Between this function and its user an error would end the process; the user sees a closed socket.
  socket.on("error", () => {});
  try {
    await once(socket, "connect", { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function lookUp(host: string, lookup: LookupFunction, signal: AbortSignal): Promise<string[]> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    lookup(host, { all: true }, (error, found) => {
      if (error !== null) reject(error);
      else resolve(Array.isArray(found) ? found.map(({ address }) => address) : [found]);
    });
  });
}
