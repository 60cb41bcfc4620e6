/** The values that an installation was given: how one is issued, and what becomes of the older ones. */
import { isoTime } from "../../platform/clock.ts";
import { createToken, hashSecret, ROBOT_TOKEN_PREFIX } from "../kernel/auth/token.ts";
import type { ServiceMachine } from "../kernel/machine.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

type Installation = Pick<Tables["installations"], "id" | "organization_id" | "generation">;

/** A credential that is not in the store yet. Made before the transaction, because its job may run twice. */
export interface Draft extends Pick<
  Tables["robot_credentials"],
  "token_sha256" | "issued_at" | "expires_at" | "renew_at"
> {
  /** Only the answer contains it. */
  readonly token: string;
}

/** Robots renew within this part of the lifetime: spread, so that robots which enrolled together do not renew together. */
const RENEWAL = { earliest: 0.5, latest: 0.7 } as const;

export function draftCredential(
  { clock, random }: Pick<ServiceMachine, "clock" | "random">,
  { credentialTtlMs }: { readonly credentialTtlMs: number },
): Draft {
  const nowMs = clock.wallMs();
  const token = createToken(ROBOT_TOKEN_PREFIX, random);
  const renewMs = credentialTtlMs * (RENEWAL.earliest + random.unit() * (RENEWAL.latest - RENEWAL.earliest));
  return {
    token,
    token_sha256: hashSecret(token),
    issued_at: isoTime(nowMs),
    expires_at: isoTime(nowMs + credentialTtlMs),
    renew_at: isoTime(nowMs + Math.round(renewMs)),
  };
}

/** Adds a credential of the newest generation. */
export async function insertCredential(
  transaction: Transaction,
  { id, organization_id }: Omit<Installation, "generation">,
  generation: number,
  { token: _token, ...draft }: Draft,
): Promise<void> {
  const of = { organization_id, installation_id: id, generation, standing: "newest" } as const;
  await transaction
    .insertInto("robot_credentials")
    .values({ ...draft, ...of })
    .execute();
}

/**
 * What an answer at `nowMs` says of a credential. `renew_after_s` counts down to the moment that was fixed when the credential was issued:
 * clients restart their timer with each answer.
 */
export function termsOf(
  { expires_at, renew_at }: Pick<Tables["robot_credentials"], "expires_at" | "renew_at">,
  holder: { readonly robotId: string; readonly installationId: string; readonly generation: number },
  nowMs: number,
) {
  return {
    installation_id: holder.installationId,
    credential_expires_at: expires_at,
    renew_after_s: Math.max(0, Math.floor((Date.parse(renew_at) - nowMs) / 1000)),
    principal: `robot:${holder.robotId}`,
    generation: holder.generation,
  };
}

/**
 * Records the first use of a credential at `at` (ISO 8601); the value that the newest one was renewed with ends with it.
 *
 * @returns false if it was recorded before.
 */
export async function markUsed(
  transaction: Transaction,
  tokenSha256: string,
  installationId: string,
  at: string,
): Promise<boolean> {
  const used = await transaction
    .updateTable("robot_credentials")
    .set({ used_at: at })
    .where("token_sha256", "=", tokenSha256)
    .where("used_at", "is", null)
    .returning("standing")
    .executeTakeFirst();
  if (used?.standing === "newest") {
    const previous = changeOf(transaction, installationId).where("standing", "=", "previous");
    await previous.set({ standing: "superseded" }).execute();
  }
  return used !== undefined;
}

/** Whether any credential of the installation was used, with its credentials locked: a use under way comes first. */
export async function isAnyUsed(transaction: Transaction, installationId: string): Promise<boolean> {
  const credentials = await transaction
    .selectFrom("robot_credentials")
    .select("used_at")
    .where("installation_id", "=", installationId)
    .forUpdate()
    .execute();
  return credentials.some(({ used_at: usedAt }) => usedAt !== null);
}

/**
 * What a renewal does, by the value it presents.
 *
 * `advance`: the next generation; the presented value becomes the previous one. `repeat`: one more value of the same generation, because
 * the answer with the newest was lost. `displace`: the next generation, out of order: the newest values become displaced, because another
 * computer may hold them. `freeze`: another computer does.
 */
export type Rotation = "advance" | "repeat" | "displace" | "freeze";

/** What a renewal of this installation does that presents the value with this hash; null without one. */
export async function judgeRotation(
  transaction: Transaction,
  { id, generation }: Omit<Installation, "organization_id">,
  presentedSha256: string | null,
): Promise<Rotation> {
  const presented = await transaction
    .selectFrom("robot_credentials")
    .select(["standing", "displaced_by"])
    .where("installation_id", "=", id)
    .where("token_sha256", "=", presentedSha256 ?? "")
    .executeTakeFirst();
  switch (presented?.standing) {
    case "newest":
      return "advance";
    case "previous":
      return (await isUsedSince(transaction, id, generation)) ? "displace" : "repeat";
    case "displaced":
      return presented.displaced_by !== null && (await isUsedSince(transaction, id, presented.displaced_by))
        ? "freeze"
        : "displace";
    case "superseded":
    case undefined:
      return "displace";
  }
}

/** Whether any credential of this generation or a later one was used. */
async function isUsedSince(transaction: Transaction, installationId: string, generation: number): Promise<boolean> {
  const used = await transaction
    .selectFrom("robot_credentials")
    .select("token_sha256")
    .where("installation_id", "=", installationId)
    .where("generation", ">=", generation)
    .where("used_at", "is not", null)
    .executeTakeFirst();
  return used !== undefined;
}

/** Values of one generation that work at a time. */
const VALUES_OF_GENERATION_MAXIMUM = 4;

interface Renewed {
  readonly installation: Installation;
  /** Hash of the presented value; null without one. */
  readonly presentedSha256: string | null;
  readonly draft: Draft;
  /** How long the presented value still works after an ordinary renewal (ISO 8601). */
  readonly graceUntil: string;
}

/** Adds the credential of a renewal, and changes what the older ones are good for. @returns its generation. */
export async function rotate(
  transaction: Transaction,
  rotation: Exclude<Rotation, "freeze">,
  { installation, presentedSha256, draft, graceUntil }: Renewed,
): Promise<number> {
  const { id } = installation;
  const change = changeOf(transaction, id);
  const superseded = { standing: "superseded" } as const;
  const presented = presentedSha256 ?? "";
  const generation = rotation === "repeat" ? installation.generation : installation.generation + 1;
  switch (rotation) {
    case "advance":
      await change
        .set(superseded)
        .where("standing", "in", ["newest", "previous"])
        .where("token_sha256", "<>", presented)
        .execute();
      await change
        .set({ standing: "previous", grace_until: graceUntil })
        .where("token_sha256", "=", presented)
        .execute();
      break;
    case "displace":
      // The holder of the presented value has a newer one now, so showing it again proves nothing.
      await change
        .set({ ...superseded, displaced_by: null })
        .where((where) => where.or([where("standing", "=", "previous"), where("token_sha256", "=", presented)]))
        .execute();
      await change.set({ standing: "displaced", displaced_by: generation }).where("standing", "=", "newest").execute();
      break;
    case "repeat": {
      const kept = transaction
        .selectFrom("robot_credentials")
        .select("token_sha256")
        .where("installation_id", "=", id)
        .where("standing", "=", "newest")
        .orderBy("issued_at", "desc")
        .orderBy("token_sha256")
        .limit(VALUES_OF_GENERATION_MAXIMUM - 1);
      await change.set(superseded).where("standing", "=", "newest").where("token_sha256", "not in", kept).execute();
    }
  }
  // Expired values are deleted, because a renewal with one of them is treated like one with an unknown value.
  await transaction
    .deleteFrom("robot_credentials")
    .where("installation_id", "=", id)
    .where("standing", "=", "superseded")
    .where("expires_at", "<", draft.issued_at)
    .execute();
  await insertCredential(transaction, installation, generation, draft);
  return generation;
}

/** Forgets which values were displaced, so that none of them freezes the installation. */
export async function forgetDisplaced(transaction: Transaction, installationId: string): Promise<void> {
  const displaced = changeOf(transaction, installationId).where("standing", "=", "displaced");
  await displaced.set({ standing: "superseded", displaced_by: null }).execute();
}

function changeOf(transaction: Transaction, installationId: string) {
  return transaction.updateTable("robot_credentials").where("installation_id", "=", installationId);
}
