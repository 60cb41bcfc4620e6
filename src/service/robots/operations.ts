import type { Transaction } from "kysely";

import type { RobotSetupRequest } from "../../api/robots.ts";
import { presenceAt } from "../installations/index.ts";
import type { IdentitySettings, Liveness } from "../installations/index.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import type { PrincipalWrite } from "../kernel/auth/still-valid.ts";
import type { Answer } from "../kernel/http/answers.ts";
import { answerJson, refuse } from "../kernel/http/answers.ts";
import { authorship, logChange } from "../kernel/operation.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import type { StoredBytes } from "../organizations/index.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Authorship } from "../kernel/store/audit.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { requestFleetCheck } from "./fleet-checks.ts";
import type { HistoryBudget } from "./history/budget.ts";
import { changedSince, registrationDetails, registrationHash } from "./history/queries.ts";
import { findIdentifiedRobot, identifiedRobotView } from "./identified-robots.ts";
import type { IdentifiedRow } from "./identified-robots.ts";
import { findFullLimit, hasAddedAll } from "./new-robots.ts";
import type { Room } from "./new-robots.ts";
import { findContractBytes, registrationOf, upsertRobot } from "./queries.ts";
import type { Registered, Registration, RobotIdentity } from "./queries.ts";
import { writeChange } from "./recent-changes.ts";
import { takeOver } from "./take-over.ts";
import { announce } from "../webhooks/index.ts";

const NOT_OF_KEY = refuse("Forbidden", "The API key is bound to robots of other names", {}, "scope");

const TOO_MUCH_HISTORY = refuse(
  "RateLimited",
  "Robots registered so often today that no more registrations are entered in the audit log; try again later",
  { "retry-after": "600" },
);

const EVENT: Readonly<Record<Registered["change"], string>> = {
  added: "robot_registered",
  replaced: "robot_replaced",
  refitted: "robot_refitted",
};

/** `POST /v1/robots/setup`: answers once the registration is on the disk. In a full organization only existing robots may set up. */
export function setupRobot(context: SetupContext, room: Room): Handler<RobotSetupRequest> {
  const { newId, machine } = context;
  // Not async: a waiting call would keep its parsed body in memory, which can be fifty times the size of what was sent.
  return (call) => {
    const now = new Date(machine.clock.wallMs()).toISOString();
    const author = authorship(call, newId, now);
    return register(
      { ...context, room },
      {
        principal: call.principal,
        write: call.write,
        registration: registrationOf(call.body),
        isConfirmed: call.body.confirm_replace === true,
        id: newId("rob"),
        address: call.address,
        author,
      },
    );
  };
}

interface SetupContext extends Pick<OperationContext, "store" | "newId" | "machine" | "nudge" | "limitsMet"> {
  readonly storedBytes: Pick<StoredBytes, "add">;
  readonly history: HistoryBudget;
  readonly liveness: Pick<Liveness, "seen">;
  readonly identity: IdentitySettings;
}

interface RegisterContext extends SetupContext {
  readonly room: Room;
}

interface RegisterWish {
  readonly principal: Principal;
  readonly write: PrincipalWrite;
  readonly registration: Registration;
  /** Whether the computer of a robot that is online may be replaced. */
  readonly isConfirmed: boolean;
  /** Id of the robot if it is new. */
  readonly id: string;
  readonly address: string;
  readonly author: Authorship;
}

async function register(
  { newId, machine, nudge, limitsMet, room, history, storedBytes, liveness, identity: settings }: RegisterContext,
  { principal, write, registration, isConfirmed, id, address, author }: RegisterWish,
): Promise<Answer> {
  const { name, configuration_digest: configurationDigest } = registration;
  const { at: now, auditId, actor } = author;
  const { organizationId, keyId, robots: bound } = principal;
  if (bound.names !== null && !bound.names.includes(name))
    return principal.robot === null ? NOT_OF_KEY : refuseOther(principal.robot);
  const left = history.left(principal);
  if (left.state === "none") {
    const party = left.limit === "limits.history_mib_per_day.key" ? keyId : organizationId;
    limitsMet.note(left.limit, { organizationId, party });
    return TOO_MUCH_HISTORY;
  }
  const isFull = await findFullLimit(room, principal);
  const contractBytes = Buffer.byteLength(registration.contract ?? "");
  const details = registrationDetails(registration);
  const change = { at: now, body: registrationHash(details), address, actor };
  const identity: RobotIdentity = {
    id,
    now,
    auditId,
    recentChanges: JSON.stringify([change]),
    madeBy: keyId,
    keepsEntry: left.state === "little" ? 1 : 0,
    installationId: principal.robot === null ? null : principal.credentialId,
  };
  const robot = await write(async (transaction) => {
    if (isFull !== null || bound.maximum !== null) {
      const known = await findContractBytes(transaction, organizationId, name);
      const isLarger = known !== null && contractBytes > known;
      if (isFull !== null && (known === null || (isFull.limit === "limits.stored_mib" && isLarger))) return isFull;
      const full = known === null ? await hasAddedAll(transaction, principal) : null;
      if (full !== null) return full;
    }
    if (principal.robot !== null && !(await isCalled(transaction, principal.robot, name)))
      return { answer: refuseOther(principal.robot) };
    let registered = await upsertRobot(transaction, organizationId, registration, identity);
    let replaced: string | null = null;
    if (registered === null) {
      if (principal.robot !== null) return { answer: refuseOther(principal.robot) };
      const taken = await takeOver(
        transaction,
        { principal, name, isConfirmed, now },
        { liveness, identity: settings },
      );
      if (taken.state === "refused") return taken;
      replaced = taken.installationId;
      registered = await upsertRobot(transaction, organizationId, registration, { ...identity, keepsEntry: 0 });
    }
    if (registered === null) throw new Error(`The robot ${name} is locked, and yet enrolled again`);
    const { id: subjectId, previous_audit_id: previousId } = registered;
    const recent = registered.hasChanged ? await writeChange(transaction, registered, change) : null;
    const contested = recent?.contest?.at === now;
    const entry = {
      ...details,
      address,
      ...(contested ? { contested } : {}),
      ...(replaced === null ? {} : { replaced_installation_id: replaced }),
    };
    if (registered.isEntered) {
      const action = replaced === null ? "robot.setup" : "robot.replace_computer";
      await audit(transaction, author, { action, subjectId, details: entry, previousId });
    }
    const isNew = registered.change === "added";
    if (isNew || registered.hasChanged) await requestFleetCheck(transaction, author, organizationId, subjectId);
    if (isNew || registered.hasChanged || replaced !== null) {
      await announce(
        transaction,
        { newId },
        {
          organizationId,
          type: isNew ? "robot.registered" : "robot.changed",
          at: now,
          data: async () => ({
            robot_id: subjectId,
            name,
            robot_type_id: registration.robot_type_id,
            region: registration.region,
            configuration_digest: configurationDigest,
            ...(isNew ? {} : { changed: await changedSince(transaction, previousId, details) }),
            ...(replaced === null ? {} : { replaced_installation_id: replaced }),
          }),
        },
      );
    }
    const view = await viewRegistered(transaction, organizationId, registered);
    return { ...registered, view, replaced, contest: contested ? recent.contest : null };
  });
  if ("answer" in robot) return robot.answer;
  if ("limit" in robot) {
    const party = robot.limit === "limits.robots.key" ? keyId : organizationId;
    limitsMet.note(robot.limit, { organizationId, party });
    return refuse("Conflict", robot.detail);
  }
  if (robot.isEntered) {
    history.spend(principal, Buffer.byteLength(JSON.stringify(details)));
  }
  if (robot.change === "added") {
    storedBytes.add(organizationId, contractBytes + Buffer.byteLength(registration.labels));
    room.organization.take(principal);
    room.key.take(principal);
  }
  // A new robot changes no fleet before its check, which has its own interval.
  if (robot.change === "refitted") nudge();
  const logged = {
    robot_id: robot.id,
    configuration_digest: configurationDigest,
    ...(robot.replaced === null ? {} : { replaced_installation_id: robot.replaced }),
  };
  logChange(machine, EVENT[robot.change], author, logged);
  if (robot.contest !== null) {
    const { since } = robot.contest;
    machine.log.warn("robot_contested", { request_id: author.requestId, robot_id: robot.id, name, address, since });
  }
  return answerJson(
    JSON.stringify({
      robot: identifiedRobotView(robot.view, presenceAt(Date.parse(now), { liveness, identity: settings })),
    }),
  );
}

/** Only a robot that is enrolled has what this query adds. */
async function viewRegistered(
  transaction: Transaction<Tables>,
  organizationId: string,
  registered: Registered,
): Promise<IdentifiedRow> {
  const unknown = { ...registered, installation_state: null, last_seen_at: null };
  if (registered.installation_id === null) return unknown;
  return (await findIdentifiedRobot(transaction, organizationId, registered.id)) ?? unknown;
}

/** Whether the robot still has this name: a rename may have come between. Holds its row. */
async function isCalled(
  transaction: Transaction<Tables>,
  { id }: NonNullable<Principal["robot"]>,
  name: string,
): Promise<boolean> {
  const robot = await transaction
    .selectFrom("robots")
    .select("name")
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return robot?.name === name;
}

function refuseOther({ name }: NonNullable<Principal["robot"]>): Answer {
  const detail = `The credential of a robot registers only the robot itself, which is called ${JSON.stringify(name)}`;
  return refuse("Forbidden", detail, {}, "scope");
}
