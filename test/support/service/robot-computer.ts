import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

import { expect } from "vitest";

import {
  type EnrolmentPolled,
  enrolmentPolledSchema,
  type EnrolmentStarted,
  enrolmentStartedSchema,
} from "../../../src/api/enrolments.ts";
import { type Heartbeat, renewedSchema } from "../../../src/api/installations.ts";
import { enrolmentText, renewalText } from "../../../src/api/wire/signed-texts.ts";

export const NO_DIGEST = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** A robot computer at the protocol level: a key, and the requests that it signs. */
export class RobotComputer {
  readonly url: () => string;
  readonly #key: KeyObject;
  readonly publicKey: string;
  /** Current credential. */
  token: string | null = null;
  installationId = "";

  /** @param url of the service; called for each request, so it can alternate between replicas. */
  constructor(url: () => string, key = generateKeyPairSync("ed25519").privateKey) {
    this.url = url;
    this.#key = key;
    this.publicKey = publicKeyOf(key);
  }

  /** A computer booted from a copy of this one's disk. */
  copy(): RobotComputer {
    const copied = new RobotComputer(this.url, this.#key);
    copied.token = this.token;
    copied.installationId = this.installationId;
    return copied;
  }

  sign(text: string): string {
    return sign(null, Buffer.from(text), this.#key).toString("base64url");
  }

  send(method: string, path: string, body: unknown, token: string | null = this.token): Promise<Response> {
    return fetch(this.url() + path, {
      method,
      headers: {
        "content-type": "application/json",
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
    });
  }

  async start(members: object = {}, bulkKey: string | null = null): Promise<EnrolmentStarted> {
    const body = {
      requested_name: "arm-1",
      public_key: this.publicKey,
      configuration_digest: NO_DIGEST,
      region: "us-west-2",
      ...members,
    };
    const answer = await this.send("POST", "/v1/robot-agent/enrollment", body, bulkKey);
    const json: unknown = await answer.json();
    expect([answer.status, json]).toEqual([200, expect.anything()]);
    return enrolmentStartedSchema.parse(json);
  }

  /** Polls once and keeps the credential of an approval. */
  async poll({ approval_id: approvalId, poll_token: pollToken }: EnrolmentStarted): Promise<EnrolmentPolled> {
    const signature = this.sign(enrolmentText(approvalId, pollToken));
    const body = { approval_id: approvalId, poll_token: pollToken, signature };
    const answer = await this.send("POST", "/v1/robot-agent/enrollment/poll", body, null);
    const json: unknown = await answer.json();
    expect([answer.status, json]).toEqual([200, expect.anything()]);
    const polled = enrolmentPolledSchema.parse(json);
    if (polled.status === "approved") {
      this.token = polled.installation_token;
      this.installationId = polled.installation_id;
    }
    return polled;
  }

  heartbeat(beat: Partial<Heartbeat> = {}, token = this.token): Promise<Response> {
    return this.send("PUT", "/v1/robot-agent/heartbeat", { readiness: "ready", ...beat }, token);
  }

  /** Sends one renewal request and returns the answer without keeping the credential. */
  requestRenewal(token = this.token, nonce = randomBytes(24).toString("base64url")): Promise<Response> {
    const body = {
      public_key: this.publicKey,
      nonce,
      signature: this.sign(renewalText(this.installationId, nonce)),
    };
    return this.send("POST", "/v1/robot-agent/credential/renew", body, token);
  }

  /** Renews and keeps the new credential. */
  async renew(token = this.token) {
    const answer = await this.requestRenewal(token);
    const json: unknown = await answer.json();
    expect([answer.status, json]).toEqual([200, expect.anything()]);
    const renewed = renewedSchema.parse(json);
    this.token = renewed.installation_token;
    return renewed;
  }
}

function publicKeyOf(key: KeyObject): string {
  const { x } = key.export({ format: "jwk" });
  if (x === undefined) throw new Error("The key is not an Ed25519 key");
  return x;
}
