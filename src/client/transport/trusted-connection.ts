import type { Socket } from "node:net";

import type { Files } from "../../platform/files/files.ts";
import { readCaFile, trustedCertificates } from "./certificates.ts";
import type { Route } from "./connection.ts";
import { openConnection } from "./connection.ts";
import { isUnknownIssuer, TransportError } from "./transport.ts";

/** @throws TransportError, or the signal's reason. */
export type OpenTrusted = (route: Pick<Route, "url" | "proxy">, signal: AbortSignal) => Promise<Socket>;

/**
 * Opens connections that trust Node's certificates and those of the CA file, which is read for each connection. The system's store is read
 * only if they do not know an issuer, and used from then on.
 */
export function trustingConnector(files: Files, caFile: string | null): OpenTrusted {
  let trustsSystem = false;
  return async ({ url, proxy }, signal) => {
    const usesTls = url.protocol === "https:" || proxy?.url.protocol === "https:";
    const extra = usesTls ? await readAuthorities(files, caFile) : [];
    const open = (withSystem: boolean) =>
      openConnection({ url, proxy, certificates: trustedCertificates(extra, withSystem) }, signal);
    try {
      return await open(trustsSystem);
    } catch (error) {
      if (trustsSystem || !(error instanceof TransportError) || !isUnknownIssuer(error.code)) throw error;
    }
    const socket = await open(true);
    trustsSystem = true;
    return socket;
  };
}

async function readAuthorities(files: Files, caFile: string | null): Promise<readonly string[]> {
  if (caFile === null) return [];
  const result = await readCaFile(files, caFile);
  if (result.kind === "ca-problem") throw new TransportError("tls", result.code, result.what);
  return result.certificates;
}
