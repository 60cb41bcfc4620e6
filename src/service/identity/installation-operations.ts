import type { Heartbeat, InstallationChange, InstallationView } from "../../api/installations.ts";
import { isoTime } from "../../platform/clock.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import { ROBOT_TOKEN_PREFIX } from "../kernel/auth/token.ts";
import { answerValue, refuse } from "../kernel/http/answers.ts";
import { authorship, type Handler, type OpenHandler } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import { findRobot } from "../robots/index.ts";
import { forgetDisplaced, termsOf } from "./credentials.ts";
import { findInstallationOf, type InstallationRow, lockInstallation, updateInstallation } from "./installations.ts";
import type { Liveness } from "./presence.ts";
import type { InstallationContext } from "./robot-credentials.ts";

const NOT_ENROLLED = refuse("NotFound", "The robot was never enrolled");
const NO_SUCH_ROBOT = refuse("NotFound", "Robot not found");
const REVOKED = refuse("Conflict", "The installation was revoked; enroll the robot's computer again");

/** How long a robot waits before it asks for work again. Not longer: existing agents also pace their heartbeats by it. */
const CLAIM_AGAIN_S = 10;

/** `PUT /v1/robot-agent/heartbeat`. Answered from memory: what it says is written within seconds, with that of other robots. */
export function heartbeat({ machine, liveness }: InstallationContext): Handler<Heartbeat> {
  return async ({ principal, body, address }) => {
    const { robot, credentialId: installationId } = principal;
    if (robot === null) throw new Error("A heartbeat was accepted from a credential that is no robot's");
    liveness.note(installationId, body, address);
    const nowMs = machine.clock.wallMs();
    const { generation } = robot.credential;
    const terms = termsOf(robot.credential, { robotId: robot.id, installationId, generation }, nowMs);
    return answerValue({ robot_id: robot.id, accepted_at: isoTime(nowMs), ...terms });
  };
}

/** `POST /v1/robot-agent/runs/claim`: there is never work here, and a refusal would make existing agents ask each second. */
export function claimRun(): OpenHandler<unknown> {
  return async ({ bearer }) =>
    bearer?.startsWith(ROBOT_TOKEN_PREFIX) === true
      ? answerValue({ run: null, retry_after_s: CLAIM_AGAIN_S })
      : refuse("Unauthorized", "Not authenticated", { "www-authenticate": "Bearer" });
}

/** `GET /v1/robots/{robot}/installation`: the live installation, else the last. */
export function getInstallation({ store, liveness }: InstallationContext): Handler<null> {
  return async ({ principal: { organizationId }, path }) => {
    const robot = await findRobot(store.reader, organizationId, path["robot"] ?? "");
    if (robot === undefined) return NO_SUCH_ROBOT;
    const installation = await findInstallationOf(store.reader, organizationId, robot.id);
    return installation === undefined ? NOT_ENROLLED : answerValue(viewOf(installation, liveness));
  };
}

/** `PATCH /v1/robots/{robot}/installation`: lets a robot work again that froze, or that was away for too long. */
export function changeInstallation(context: InstallationContext): Handler<InstallationChange> {
  const { newId, machine, identity, liveness } = context;
  return async (call) => {
    const { organizationId } = call.principal;
    const { frozen, recoveries_remaining: recoveries } = call.body;
    const nowMs = machine.clock.wallMs();
    const at = isoTime(nowMs);
    const author = authorship(call, newId, at);
    const thawed = { ...author, auditId: newId("aud") };
    return call.write(async (transaction) => {
      const robot = await findRobot(transaction, organizationId, call.path["robot"] ?? "");
      if (robot === undefined) return NO_SUCH_ROBOT;
      const found = await findInstallationOf(transaction, organizationId, robot.id);
      const installation = found && (await lockInstallation(transaction, organizationId, found.id));
      if (installation === undefined) return NOT_ENROLLED;
      if (installation.state === "revoked") return REVOKED;
      const { id } = installation;
      const isThawed = frozen === false && installation.state === "frozen";
      const change = {
        ...(isThawed ? { state: "active" as const } : {}),
        ...(typeof recoveries === "number"
          ? {
              recoveries_remaining: recoveries,
              recovery_until: isoTime(nowMs + identity.recoveryWindowMs),
            }
          : {}),
      };
      if (Object.keys(change).length > 0) await updateInstallation(transaction, id, change);
      if (isThawed) {
        await forgetDisplaced(transaction, id);
        const details = { installation_id: id };
        await audit(transaction, thawed, { action: "installation.thaw", subjectId: robot.id, details });
      }
      if (typeof recoveries === "number") {
        const details = { installation_id: id, recoveries };
        await audit(transaction, author, { action: "installation.set_recoveries", subjectId: robot.id, details });
      }
      return answerValue(viewOf({ ...installation, ...change }, liveness));
    });
  };
}

/** An installation as the answers show it; heartbeats of the last seconds may be newer than its row. */
function viewOf(row: InstallationRow, liveness: Pick<Liveness, "seen">): InstallationView {
  const seen = liveness.seen(row.id, row.last_seen_at);
  return {
    installation_id: row.id,
    robot_id: row.robot_id,
    state: row.state,
    generation: row.generation,
    enrolled_at: row.enrolled_at,
    approved_by: row.approved_by,
    key_fingerprint: keyFingerprint(row.public_key),
    credential_expires_at: row.credential_expires_at,
    recoveries_remaining: row.recoveries_remaining,
    recovery_until: row.recovery_until,
    readiness: seen?.readiness ?? row.readiness,
    reason: seen === undefined ? row.reason : seen.reason,
    runtime_version: seen?.runtimeVersion ?? row.runtime_version,
    manifest_digest: seen?.manifestDigest ?? row.manifest_digest,
    last_seen_at: seen?.at ?? row.last_seen_at,
    last_address: seen?.address ?? row.last_address,
  };
}
