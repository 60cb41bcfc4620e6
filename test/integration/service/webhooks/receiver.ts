import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { Webhook } from "standardwebhooks";
import { expect, onTestFinished } from "vitest";
import * as z from "zod";

import { webhookSecretSchema, webhookListSchema, type WebhookView } from "../../../../src/api/webhooks.ts";
import type { RunningService } from "../../../support/service/service.ts";

/** A received request. */
export interface Received {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A receiver on this machine. It answers 204 unless `answer` is replaced. */
export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  answer: (response: ServerResponse) => void;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { headers } = request;
      received.push({ id: String(headers["webhook-id"]), headers, text: Buffer.concat(parts).toString() });
      receiver.answer(response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = { url: `http://127.0.0.1:${port}/hook`, received, answer: answerWith(204) };
  return receiver;
}

export function answerWith(status: number, headers: Readonly<Record<string, string>> = {}) {
  return (response: ServerResponse) => void response.writeHead(status, headers).end();
}

/** Settings with which a service can reach receivers on this machine. */
export const LOCAL = { allow: ["127.0.0.1"], tickMs: 25 } as const;

type Sender = Pick<RunningService, "send">;

export async function createWebhook({ send }: Sender, url: string, events: readonly string[] | null = null) {
  return webhookSecretSchema.parse(await (await send("POST", "/v1/webhooks", { url, events })).json());
}

export async function webhookOf({ send }: Sender, id: string): Promise<WebhookView | undefined> {
  const { items } = webhookListSchema.parse(await (await send("GET", "/v1/webhooks")).json());
  return items.find((webhook) => webhook.id === id);
}

/** Registers a robot. */
export async function setUp({ send }: Sender, name: string, members: object = {}): Promise<void> {
  const configurationDigest = `sha256:${"0".repeat(64)}`;
  const body = { name, robot_type_id: "arm", region: "here", configuration_digest: configurationDigest, ...members };
  expect((await send("POST", "/v1/robots/setup", body)).status).toBe(200);
}

const eventSchema = z.object({ type: z.string(), timestamp: z.string(), data: z.record(z.string(), z.unknown()) });

/** Verifies the signature and the time with the library; returns the event. */
export function verified({ headers, text }: Received, secret: string) {
  const signed = {
    "webhook-id": String(headers["webhook-id"]),
    "webhook-timestamp": String(headers["webhook-timestamp"]),
    "webhook-signature": String(headers["webhook-signature"]),
  };
  return eventSchema.parse(new Webhook(secret).verify(text, signed));
}

/** The same for a service with another clock than the system clock, which the library uses. */
export function verifiedLater({ id, headers, text }: Received, secret: string) {
  const at = new Date(Number(headers["webhook-timestamp"]) * 1000);
  expect(headers["webhook-signature"]).toBe(new Webhook(secret).sign(id, at, text));
  return eventSchema.parse(JSON.parse(text));
}
