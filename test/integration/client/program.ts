import type { ClientOptions, ServiceClient } from "../../../src/client/client.ts";
import { createClient } from "../../../src/client/client.ts";
import { Secret } from "../../../src/client/secret.ts";
import type { Timeouts, Transport } from "../../../src/client/transport.ts";
import type { UndiciTransportOptions } from "../../../src/client/undici-transport.ts";
import { createUndiciTransport } from "../../../src/client/undici-transport.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemFiles } from "../../../src/platform/files.ts";

/** Appears nowhere but in the Authorization header; every result is searched for it. */
export const CANARY = "sk_test_CANARYcanaryCANARYcanary1234";

export const PATIENT: Timeouts = { connect_ms: 10_000, headers_ms: 10_000, total_ms: 10_000 };

export interface Settings extends Partial<UndiciTransportOptions> {
  readonly timeouts?: Timeouts;
  readonly key?: () => string;
  readonly credential?: ClientOptions["credential"];
}

/** The real transport on the real machine, nothing configured but what is given. */
export function transportOf(settings: Partial<UndiciTransportOptions>): Transport {
  return createUndiciTransport({
    ca_file: null,
    proxy: null,
    environment: {},
    allow_insecure: false,
    files: systemFiles,
    clock: systemClock,
    ...settings,
  });
}

/** A client as the programs build it, on the real machine. */
export function clientOf(base_url: string, settings: Settings = {}): ServiceClient & { close(): Promise<void> } {
  const { timeouts = PATIENT, key = () => CANARY, credential, ...transportSettings } = settings;
  const transport = transportOf(transportSettings);
  const client = createClient({
    base_url,
    transport,
    credential:
      credential ??
      (async () => ({ kind: "credential", secret: new Secret(key()), source: "key-file", where: "/key" })),
    clock: systemClock,
    user_agent: "test/1",
    timeouts,
  });
  return { ...client, close: () => transport.close() };
}

export const never = () => new AbortController().signal;
