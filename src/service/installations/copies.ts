import { isoNow } from "../../platform/clock.ts";
import type { RobotCredentials } from "../kernel/http/gate.ts";
import type { OperationContext } from "../kernel/operation.ts";
import { audit, type Authorship } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import { announce } from "../webhooks/index.ts";
import { markUsed } from "./credential-queries.ts";
import type { Liveness } from "./liveness.ts";
import { type InstallationRow, lockInstallation, updateInstallation } from "./queries.ts";
import type { IdentitySettings } from "./rules.ts";

export interface InstallationContext extends Pick<OperationContext, "store" | "newId" | "machine"> {
  readonly liveness: Pick<Liveness, "note" | "seen" | "revision">;
  readonly identity: IdentitySettings;
  /** Ends the enrolment that an installation came from. */
  readonly consumeEnrolment: (transaction: Transaction, installationId: string) => Promise<void>;
}

/** What follows from the use of robots' credentials, for the gate. */
export function createRobotCredentials(context: InstallationContext): RobotCredentials {
  const { store, newId, machine, identity } = context;
  return {
    async firstUsed({ token_sha256: tokenSha256, installation_id: id }) {
      const at = isoNow(machine.clock);
      await store.write(async (transaction) => {
        if (await markUsed(transaction, tokenSha256, id, at)) await context.consumeEnrolment(transaction, id);
      });
    },
    async copyReported({ organizationId, credentialId: id }, address) {
      const at = isoNow(machine.clock);
      const author = { auditId: newId("aud"), at, organizationId, actor: id, requestId: null };
      const copied = await store.write(async (transaction) => {
        const installation = await lockInstallation(transaction, organizationId, id);
        if (installation?.state !== "active") return { state: installation?.state, found: null };
        if (identity.copiedKey === "warn") return { state: "active", found: installation };
        await freeze(context, transaction, installation, address, author);
        return { state: "frozen", found: installation };
      });
      if (copied.found !== null) tellCopied(context, copied.found, address);
      return copied.state === "frozen";
    },
  };
}

/** Stops an installation whose key two computers hold. Call `tellCopied` once that is committed. */
export async function freeze(
  context: Pick<InstallationContext, "liveness" | "newId">,
  transaction: Transaction,
  installation: InstallationRow,
  address: string,
  author: Authorship,
): Promise<void> {
  await updateInstallation(transaction, installation.id, { state: "frozen" });
  await audit(transaction, author, {
    action: "installation.freeze",
    subjectId: installation.robot_id,
    details: { installation_id: installation.id, address, other_address: lastAddress(context, installation) },
  });
  const { organization_id: organizationId, robot_id: robotId } = installation;
  await announce(transaction, context, {
    organizationId,
    type: "robot.frozen",
    at: author.at,
    data: async () => ({
      robot_id: robotId,
      name: await nameOf(transaction, robotId),
      installation_id: installation.id,
      address,
      other_address: lastAddress(context, installation),
    }),
  });
}

/** Logs that two computers hold the key of an installation, with both their addresses. */
export function tellCopied(
  { machine, identity, liveness }: Pick<InstallationContext, "machine" | "identity" | "liveness">,
  installation: InstallationRow,
  address: string,
): void {
  machine.log.warn(identity.copiedKey === "freeze" ? "installation_frozen" : "installation_copied", {
    robot_id: installation.robot_id,
    installation_id: installation.id,
    address,
    other_address: lastAddress({ liveness }, installation),
  });
}

function lastAddress(
  { liveness }: Pick<InstallationContext, "liveness">,
  { id, last_address, last_seen_at }: InstallationRow,
) {
  return liveness.seen(id, last_seen_at)?.address ?? last_address;
}

async function nameOf(transaction: Transaction, robotId: string): Promise<string> {
  const query = transaction.selectFrom("robots").select("name").where("id", "=", robotId);
  return (await query.executeTakeFirstOrThrow()).name;
}
