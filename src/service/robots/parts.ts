/** What the digests of registrations cover, as robots say it after they registered, and the contents that they share. */
import { hash } from "node:crypto";

import {
  type RegistrationPart,
  type RegistrationParts,
  SHARED_CONTENT_BYTES,
  type SharedContent,
} from "../../api/differences.ts";
import { findSecret } from "../../documents/secrets.ts";
import { configurationDigest } from "../../look/digest.ts";
import { type Answer, answerValue, isAnswer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import { createPruning, type Pruning } from "../kernel/tasks/pruning.ts";
import type { Task } from "../kernel/tasks/task-loop.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { coveredBy, equipmentOf, storedPartsSchema } from "./equipment.ts";
import { findRobot, lockRobot } from "./robots.ts";
import { maySee, UNKNOWN_ROBOT } from "./views.ts";

/** UTF-8 bytes of all contents of an organization. */
const CONTENTS_MAXIMUM_BYTES = 256 * 1024 * 1024;

type PartsContext = Pick<OperationContext, "store" | "nudge">;

/** `PUT /v1/robots/{robot}/registration/parts` */
export function putRegistrationParts({ store, nudge }: PartsContext): Handler<RegistrationParts> {
  return async ({ principal, path, body, write }) => {
    const robot = await visibleRobot(store.reader, principal, path["robot"]);
    if (isAnswer(robot)) return robot;
    if (configurationDigest(body.parts.map(({ sha256 }) => sha256)) !== body.configuration_digest) {
      const fault = ruleBroken("the parts do not make the configuration_digest");
      return refuseInvalid([{ ...fault, loc: ["body", "parts"], input: null }]);
    }
    const done = await write((transaction) => recordParts(transaction, principal.organizationId, robot.id, body));
    if (isAnswer(done)) return done;
    if (done.isRefitted) nudge();
    return answerValue({ missing: done.missing });
  };
}

interface Recorded {
  /** Shared contents that the service does not have. */
  readonly missing: readonly string[];
  /** Whether the robot's fleets must be evaluated again. */
  readonly isRefitted: boolean;
}

async function recordParts(
  transaction: Transaction,
  organizationId: string,
  robotId: string,
  { configuration_digest: digest, parts }: RegistrationParts,
): Promise<Recorded | Answer> {
  const robot = await lockRobot(transaction, organizationId, robotId);
  if (robot === undefined) return UNKNOWN_ROBOT;
  if (robot.configuration_digest !== digest) {
    return refuse("Conflict", `The last registration has the digest ${robot.configuration_digest}`);
  }
  const { audit_id: auditId } = robot;
  // A robot of an earlier release may have lost the entry of its last registration.
  if (!(await isKept(transaction, auditId))) return { missing: [], isRefitted: false };
  const row = { audit_id: auditId, parts: JSON.stringify(parts) };
  await transaction
    .insertInto("registration_parts")
    .values(row)
    .onConflict((conflict) => conflict.column("audit_id").doUpdateSet({ parts: row.parts }))
    .execute();
  const shared = [...new Set(parts.flatMap(({ shared, sha256 }) => (shared ? [sha256] : [])))];
  const missing: string[] = [];
  for (const sha256 of shared) {
    await useContent(transaction, { organization_id: organizationId, sha256, audit_id: auditId });
    if (!(await hasContent(transaction, organizationId, sha256))) missing.push(sha256);
  }
  return { missing, isRefitted: await refreshEquipment(transaction, robot) };
}

/**
 * Brings what checkpoints judge a robot by up to date with its contract and the parts of its digest. The caller has locked its row.
 *
 * @returns whether it changed.
 */
export async function refreshEquipment(
  transaction: Transaction,
  robot: Pick<Tables["robots"], "id" | "contract" | "audit_id" | "equipment_sha256">,
): Promise<boolean> {
  const parts = await readParts(transaction, robot.audit_id);
  const referenceId = (await isReference(transaction, robot.id)) ? robot.id : null;
  const equipment = equipmentOf(robot.contract, parts === null ? null : coveredBy(parts, referenceId));
  if (equipment.equipment_sha256 === robot.equipment_sha256) return false;
  await transaction.updateTable("robots").set(equipment).where("id", "=", robot.id).execute();
  return true;
}

/** Whether a checkpoint was trained on this robot. The catalog's few rows are read, because no other query asks for it. */
async function isReference(transaction: Transaction, robotId: string): Promise<boolean> {
  const named = transaction
    .selectFrom("checkpoints")
    .select("id")
    .where("requirements", "like", `%"robot_id":${JSON.stringify(robotId)}%`)
    .limit(1);
  return (await named.executeTakeFirst()) !== undefined;
}

async function isKept(transaction: Transaction, auditId: string): Promise<boolean> {
  const entry = transaction.selectFrom("audit_log").select("id").where("id", "=", auditId);
  return (await entry.executeTakeFirst()) !== undefined;
}

/** `PUT /v1/robots/{robot}/contents/{sha256}` */
export function putSharedContent({ store }: PartsContext): Handler<SharedContent> {
  return async ({ principal, path, body: { text }, write }) => {
    const robot = await visibleRobot(store.reader, principal, path["robot"]);
    if (isAnswer(robot)) return robot;
    const { organizationId } = principal;
    const content = { organization_id: organizationId, sha256: sha256Of(text), text, bytes: Buffer.byteLength(text) };
    const problem = problemOf(content, path["sha256"]);
    if (problem !== null) return refuseInvalid([{ ...ruleBroken(problem), loc: ["body", "text"], input: null }]);
    return write(async (transaction) => {
      const current = await lockRobot(transaction, organizationId, robot.id);
      if (current === undefined) return UNKNOWN_ROBOT;
      if (!(await isUsed(transaction, { ...content, audit_id: current.audit_id }))) {
        return refuse("Conflict", "No part of the robot's last registration shares a content with this hash");
      }
      return (await keepContent(transaction, content))
        ? answerValue({})
        : refuse("Conflict", "The organization has as much shared content as it may");
    });
  };
}

function problemOf({ text, bytes, sha256 }: Tables["contents"], wanted: string | undefined): string | null {
  if (bytes > SHARED_CONTENT_BYTES) return `a shared content has at most ${SHARED_CONTENT_BYTES} bytes`;
  if (sha256 !== wanted) return "the content has another hash";
  const secret = findSecret(text);
  return secret === undefined ? null : `the content holds ${secret.what}, and secrets are not stored`;
}

async function visibleRobot(reader: Reader, principal: Principal, asked = "") {
  const robot = await findRobot(reader, principal.organizationId, asked);
  return robot === undefined || !maySee(principal, robot) ? UNKNOWN_ROBOT : robot;
}

/** Keeps the contract of a registration, to compare later ones with it. */
export async function keepContract(
  transaction: Transaction,
  organizationId: string,
  auditId: string,
  contract: string,
): Promise<void> {
  const content = {
    organization_id: organizationId,
    sha256: sha256Of(contract),
    text: contract,
    bytes: Buffer.byteLength(contract),
  };
  if (!(await keepContent(transaction, content))) return;
  await useContent(transaction, { organization_id: organizationId, sha256: content.sha256, audit_id: auditId });
}

/** @returns false where the organization has as much content as it may. */
async function keepContent(transaction: Transaction, content: Tables["contents"]): Promise<boolean> {
  const { organization_id: organizationId, sha256, bytes } = content;
  if (await hasContent(transaction, organizationId, sha256)) return true;
  if ((await bytesOf(transaction, organizationId)) + bytes > CONTENTS_MAXIMUM_BYTES) return false;
  await insertContent(transaction, content);
  return true;
}

function sha256Of(text: string): string {
  return hash("sha256", text);
}

const insertContent = prepare<Tables["contents"], never>((database, parameter) =>
  database
    .insertInto("contents")
    .values({
      organization_id: parameter("organization_id"),
      sha256: parameter("sha256"),
      text: parameter("text"),
      bytes: parameter("bytes"),
    })
    .onConflict((conflict) => conflict.doNothing()),
);

const useContent = prepare<Tables["content_uses"], never>((database, parameter) =>
  database
    .insertInto("content_uses")
    .values({
      organization_id: parameter("organization_id"),
      sha256: parameter("sha256"),
      audit_id: parameter("audit_id"),
    })
    .onConflict((conflict) => conflict.doNothing()),
);

async function isUsed(
  transaction: Transaction,
  { organization_id: organizationId, sha256, audit_id: auditId }: Tables["content_uses"],
): Promise<boolean> {
  const use = transaction
    .selectFrom("content_uses")
    .select("sha256")
    .where("organization_id", "=", organizationId)
    .where("sha256", "=", sha256)
    .where("audit_id", "=", auditId);
  return (await use.executeTakeFirst()) !== undefined;
}

async function bytesOf(reader: Reader, organizationId: string): Promise<number> {
  const { bytes } = await reader
    .selectFrom("contents")
    .where("organization_id", "=", organizationId)
    .select(({ fn }) => fn.sum<number | string | null>("bytes").as("bytes"))
    .executeTakeFirstOrThrow();
  return Number(bytes ?? 0);
}

async function hasContent(reader: Reader, organizationId: string, sha256: string): Promise<boolean> {
  const [content] = await findContent(reader, { organization_id: organizationId, sha256 });
  return content !== undefined;
}

const findContent = prepare<Pick<Tables["contents"], "organization_id" | "sha256">, object>((database, parameter) =>
  database
    .selectFrom("contents")
    .select("sha256")
    .where("organization_id", "=", parameter("organization_id"))
    .where("sha256", "=", parameter("sha256")),
);

/** Null for a content that the service does not have. */
export async function readContent(reader: Reader, organizationId: string, sha256: string): Promise<string | null> {
  const content = await reader
    .selectFrom("contents")
    .select("text")
    .where("organization_id", "=", organizationId)
    .where("sha256", "=", sha256)
    .executeTakeFirst();
  return content?.text ?? null;
}

/** Parses parts from the store. */
export function parseParts(text: string): readonly RegistrationPart[] {
  return storedPartsSchema.parse(JSON.parse(text));
}

/** Null where the robot did not say what its digest covers. */
export async function readParts(reader: Reader, auditId: string): Promise<readonly RegistrationPart[] | null> {
  const row = await reader
    .selectFrom("registration_parts")
    .select("parts")
    .where("audit_id", "=", auditId)
    .executeTakeFirst();
  return row === undefined ? null : parseParts(row.parts);
}

export async function hasParts(reader: Reader, auditId: string): Promise<boolean> {
  const row = reader.selectFrom("registration_parts").select("audit_id").where("audit_id", "=", auditId);
  return (await row.executeTakeFirst()) !== undefined;
}

const HOUR_MS = 3_600_000;

/** Deletes contents that no registration names any more. */
export function createPruneContents(context: Pick<OperationContext, "store" | "machine">): Task {
  return createPruning(context, { name: "prune-contents", intervalMs: HOUR_MS }, pruneContents);
}

async function pruneContents({ transaction, maximum }: Pruning): Promise<number> {
  const unused = await transaction
    .selectFrom("contents")
    .select(["organization_id", "sha256"])
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("content_uses")
            .select("audit_id")
            .whereRef("content_uses.organization_id", "=", "contents.organization_id")
            .whereRef("content_uses.sha256", "=", "contents.sha256"),
        ),
      ),
    )
    .limit(maximum)
    .execute();
  for (const { organization_id: organizationId, sha256 } of unused) {
    await transaction
      .deleteFrom("contents")
      .where("organization_id", "=", organizationId)
      .where("sha256", "=", sha256)
      .execute();
  }
  return unused.length;
}
