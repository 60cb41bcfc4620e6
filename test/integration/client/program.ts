import { operations } from "../../../src/api/api.ts";
import type { RobotView } from "../../../src/api/robot-views.ts";
import type { CallResult } from "../../../src/client/call-result.ts";
import { type ClientOptions, createClient, type ServiceClient } from "../../../src/client/client.ts";
import { createOperationClient } from "../../../src/client/operation-client.ts";
import { Secret } from "../../../src/client/secret.ts";
import type { UndiciTransportOptions } from "../../../src/client/transport/sender.ts";
import type { Timeouts, Transport } from "../../../src/client/transport/transport.ts";
import { createUndiciTransport } from "../../../src/client/transport/undici-transport.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";

/** Must appear in the Authorization header only; every result is searched for it. */
export const CANARY = "sk_test_CANARYcanaryCANARYcanary1234";

export const PATIENT: Timeouts = { connectMs: 10_000, headersMs: 10_000, totalMs: 10_000 };

export interface Settings extends Partial<UndiciTransportOptions> {
  readonly timeouts?: Timeouts;
  readonly key?: () => string;
  readonly credential?: ClientOptions["credential"];
}

/** The real transport on the real machine, with default settings except the given ones. */
export function transportOf(settings: Partial<UndiciTransportOptions>): Transport {
  return createUndiciTransport({
    caFile: null,
    proxy: null,
    environment: {},
    allow_insecure: false,
    files: systemFiles,
    ...settings,
  });
}

export interface Client extends ServiceClient {
  /** As the command line lists robots. */
  listRobots(signal: AbortSignal): Promise<CallResult<readonly RobotView[]>>;
  close(): Promise<void>;
}

/** The client as the programs build it, on the real machine. */
export function clientOf(baseUrl: string, settings: Settings = {}): Client {
  const { timeouts = PATIENT, key = () => CANARY, credential, ...transportSettings } = settings;
  const transport = transportOf(transportSettings);
  const options: ClientOptions = {
    baseUrl,
    transport,
    credential:
      credential ??
      (async () => ({ kind: "credential", secret: new Secret(key()), source: "key-file", where: "/key" })),
    clock: systemClock,
    userAgent: "test/1",
    timeouts,
  };
  const terminal = createOperationClient(options);
  return {
    ...createClient(options),
    async listRobots(signal) {
      const result = await terminal.call(operations.listRobots, {}, signal);
      return result.kind === "ok" ? { ...result, value: result.value.value } : result;
    },
    close: () => transport.close(),
  };
}

export const never = () => new AbortController().signal;
