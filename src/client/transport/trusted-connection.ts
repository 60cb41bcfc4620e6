import type { Socket } from "node:net";

import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files/files.ts";
import { createAuthorities } from "./authorities.ts";
import { trustedCertificates } from "./certificates.ts";
import type { Route } from "./connection.ts";
import { openConnection } from "./connection.ts";
import { isUnknownIssuer, TransportError } from "./transport.ts";

/** @throws TransportError, or the signal's reason. */
export type OpenTrusted = (route: Pick<Route, "url" | "proxy">, signal: AbortSignal) => Promise<Socket>;

/**
 * Opens connections that trust Node's certificates and those of the CA file as it is then. The system's store is read only if they do not
 * know an issuer, and used from then on.
 */
export function trustingConnector(files: Files, caFile: string | null, clock: Pick<Clock, "monotonicMs">): OpenTrusted {
  const readAuthorities = createAuthorities(files, caFile, clock);
  let trustsSystem = false;
  return async ({ url, proxy }, signal) => {
    const usesTls = url.protocol === "https:" || proxy?.url.protocol === "https:";
    const extra = usesTls ? await readAuthorities() : [];
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
