import { isRobotOnline, presenceAt, type PresenceContext, revokeInstallationOf } from "../../identity/index.ts";
import { isAllowed, type Principal } from "../../kernel/auth/authenticate.ts";
import { type Answer, refuse } from "../../kernel/http/answers.ts";
import type { Transaction } from "../../kernel/store/store.ts";
import { lockRobotNamed } from "../enrolled-robot.ts";

/** A registration, by a key or a session, of a robot whose computer has a credential of its own. */
export interface TakeOver {
  readonly principal: Principal;
  readonly name: string;
  /** Whether a robot that is online may be replaced. */
  readonly isConfirmed: boolean;
  /** ISO 8601. */
  readonly now: string;
}

/**
 * Revokes the installation of the robot with this name, so that whoever registers it speaks for it.
 *
 * @returns a refusal, or the id of the installation, which is null if none was left.
 */
export async function takeOver(
  transaction: Transaction,
  { principal, name, isConfirmed, now }: TakeOver,
  context: PresenceContext,
): Promise<Answer | { readonly installationId: string | null }> {
  const { organizationId } = principal;
  const robot = await lockRobotNamed(transaction, organizationId, name);
  if (robot === undefined || robot.installation_id === null) return { installationId: null };
  if (!isAllowed(principal, "robots:write")) return refuseEnrolled(name);
  const presence = presenceAt(Date.parse(now), context);
  if (!isConfirmed && (await isRobotOnline(transaction, robot, presence))) return refuseOnline(name);
  return { installationId: await revokeInstallationOf(transaction, organizationId, robot.id, now) };
}

function refuseEnrolled(name: string): Answer {
  const detail = `The robot ${JSON.stringify(name)} is enrolled, and registers with its own credential; to replace its computer, use a key with the scope robots:write`;
  return refuse("Forbidden", detail, {}, "scope");
}

function refuseOnline(name: string): Answer {
  const detail = `The robot ${JSON.stringify(name)} is online with a credential of its own; to replace its computer, register again with confirm_replace`;
  return refuse("Conflict", detail, {}, "robot_online");
}
