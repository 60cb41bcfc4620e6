import type { Tables } from "../kernel/store/tables.ts";

/** What an answer says of a credential. */
export interface Terms {
  readonly installation_id: string;
  readonly credential_expires_at: string;
  readonly renew_after_s: number;
  readonly principal: string;
  readonly generation: number;
}

type Credential = Pick<Tables["robot_credentials"], "expires_at" | "renew_at">;

interface Holder {
  readonly robotId: string;
  readonly installationId: string;
  readonly generation: number;
}

/**
 * The terms of a credential at `nowMs`. `renew_after_s` counts down to the moment that was fixed when the credential was issued: clients
 * restart their timer with each answer.
 */
export function termsOf({ expires_at, renew_at }: Credential, holder: Holder, nowMs: number): Terms {
  return {
    installation_id: holder.installationId,
    credential_expires_at: expires_at,
    renew_after_s: Math.max(0, Math.floor((Date.parse(renew_at) - nowMs) / 1000)),
    principal: `robot:${holder.robotId}`,
    generation: holder.generation,
  };
}
