import type { Socket } from "node:net";

import type { Clock } from "../../platform/clock.ts";
import { errorCode, type Files, type FileStat, sameStat } from "../../platform/files/files.ts";
import { readCaFile, systemCertificates, trustedCertificates } from "./certificates.ts";
import { openConnection, type Route } from "./connection.ts";
import type { Environment } from "./proxy.ts";
import { isUnknownIssuer, OTHER_AUTHORITY, TransportError } from "./transport.ts";

/** @throws TransportError, or the signal's reason. */
export type OpenTrusted = (route: Pick<Route, "url" | "proxy">, signal: AbortSignal) => Promise<Socket>;

/**
 * Opens connections that trust Node's certificates and those of the CA file as it is then. The system's store is read only if they do not
 * know an issuer; what was in it is used from then on.
 */
export function trustingConnector(
  files: Files,
  caFile: string | null,
  clock: Pick<Clock, "monotonicMs">,
  environment: Environment,
): OpenTrusted {
  const readAuthorities = createAuthorities(files, caFile, clock);
  let ofSystem: readonly string[] = [];
  return async ({ url, proxy }, signal) => {
    const usesTls = url.protocol === "https:" || proxy?.url.protocol === "https:";
    const extra = usesTls ? await readAuthorities() : [];
    const open = (store: readonly string[]) =>
      openConnection({ url, proxy, certificates: trustedCertificates([...extra, ...store]) }, signal);
    try {
      return await open(ofSystem);
    } catch (error) {
      if (!(error instanceof TransportError) || !isUnknownIssuer(error.code)) throw error;
    }
    const read = await systemCertificates(files, environment);
    try {
      const socket = await open(read);
      ofSystem = read;
      return socket;
    } catch (error) {
      if (caFile === null || !(error instanceof TransportError) || !isUnknownIssuer(error.code)) throw error;
      const what = `${error.message}; it is not among those in ${caFile}`;
      throw new TransportError(error.reason, OTHER_AUTHORITY, what);
    }
  };
}

/** Timestamps of files may be this coarse, so a file that changed later may change again without another stat (NFS, FAT). */
const SETTLED_AFTER_MS = 2000;

/**
 * Reads the certificates of the CA file for each connection, and only its stat while it stays as it is: a heartbeat each 30 s would
 * otherwise wake a thread four times to open, stat, read and close it.
 *
 * @returns a function that throws TransportError.
 */
export function createAuthorities(
  files: Files,
  caFile: string | null,
  clock: Pick<Clock, "monotonicMs">,
): () => Promise<readonly string[]> {
  if (caFile === null) return async () => [];
  let known: { readonly stat: FileStat; readonly sinceMs: number } | null = null;
  /** As read when the file had settled. */
  let settled: readonly string[] | null = null;

  return async () => {
    const nowMs = clock.monotonicMs();
    const stat = await statOf(files, caFile);
    if (stat === null || known === null || !sameStat(stat, known.stat)) {
      known = stat === null ? null : { stat, sinceMs: nowMs };
      settled = null;
    }
    if (settled !== null) return settled;
    const result = await readCaFile(files, caFile);
    if (result.kind === "ca-problem") throw new TransportError("tls", result.code, result.what);
    if (known !== null && nowMs - known.sinceMs >= SETTLED_AFTER_MS) settled = result.certificates;
    return result.certificates;
  };
}

/** Null where there is no such file: to read it tells why. */
async function statOf(files: Files, path: string): Promise<FileStat | null> {
  try {
    return await files.stat(path);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}
