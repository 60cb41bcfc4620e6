import type { Transaction } from "kysely";

import type { RobotSetup } from "../../api/robots.ts";
import type { PageQuery } from "../../api/wire/pages.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import { holdKeyToAdd } from "../kernel/auth/key-queries.ts";
import type { PrincipalWrite } from "../kernel/auth/still-valid.ts";
import type { Answer } from "../kernel/http/answers.ts";
import { answerJson, refuse } from "../kernel/http/answers.ts";
import { answerList } from "../kernel/lists/answer-list.ts";
import { createListCache } from "../kernel/lists/list-cache.ts";
import { authorship } from "../kernel/operation.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Authorship } from "../kernel/store/audit.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { createHistoryBudget } from "./history-budget.ts";
import type { HistoryBudget, HistoryLimits } from "./history-budget.ts";
import { registrationDetails, registrationHash } from "./history-queries.ts";
import type { RobotLimits } from "./limits.ts";
import {
  countRobots,
  countRobotsMadeBy,
  findRobot,
  isRobotName,
  listRobots,
  registrationOf,
  upsertRobot,
} from "./queries.ts";
import type { Registered, Registration, RobotRow } from "./queries.ts";
import { writeChange } from "./recent-changes.ts";
import { createRobotRoom } from "./room.ts";
import type { RobotRoom } from "./room.ts";

export const UNKNOWN_ROBOT = refuse("NotFound", "Robot not found");

const NOT_OF_KEY = refuse("Forbidden", "The API key is bound to robots of other names");

/** Size of an audit entry besides its details: ids, times and index entries. */
const ENTRY_BYTES = 400;
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
export function setupRobot(context: SetupContext, limits: SetupLimits): Handler<RobotSetup> {
  const { store, newId, machine } = context;
  const room = createRoom(store.reader, limits.robots);
  const history = createHistoryBudget(limits.historyBytesPerDay, machine.clock);
  // Not async: a waiting call would keep its parsed body in memory, which can be fifty times the size of what was sent.
  return (call) => {
    const now = new Date(machine.clock.wallMs()).toISOString();
    const author = authorship(call, newId, now);
    return register(
      { ...context, room, history },
      {
        principal: call.principal,
        write: call.write,
        registration: registrationOf(call.body),
        id: newId("rob"),
        address: call.address,
        author,
      },
    );
  };
}

type SetupContext = Pick<OperationContext, "store" | "newId" | "machine" | "nudge" | "limitsMet">;

export interface SetupLimits {
  readonly robots: RobotLimits;
  readonly historyBytesPerDay: HistoryLimits;
}

interface RegisterContext extends SetupContext {
  readonly room: Room;
  readonly history: HistoryBudget;
}

interface RegisterWish {
  readonly principal: Principal;
  readonly write: PrincipalWrite;
  readonly registration: Registration;
  /** Id of the robot if it is new. */
  readonly id: string;
  readonly address: string;
  readonly author: Authorship;
}

async function register(
  { machine, nudge, limitsMet, room, history }: RegisterContext,
  { principal, write, registration, id, address, author }: RegisterWish,
): Promise<Answer> {
  const { name, configuration_digest: configurationDigest } = registration;
  const { at: now, audit_id: auditId, actor } = author;
  const { organization_id: organizationId, key_id: keyId, robots: bound } = principal;
  if (bound.names !== null && !bound.names.includes(name)) return NOT_OF_KEY;
  const left = history.left(principal);
  if (left.state === "none") {
    const party = left.limit === "limits.history_mib_per_day.key" ? keyId : organizationId;
    limitsMet.note(left.limit, { organizationId, party });
    return TOO_MUCH_HISTORY;
  }
  const isFull = await findFullLimit(room, principal);
  const details = registrationDetails(registration);
  const change = { at: now, body: registrationHash(details), address, actor };
  const identity = { id, now, auditId, recentChanges: JSON.stringify([change]), madeBy: keyId };
  const keepsEntry = left.state === "little" ? 1 : 0;
  const robot = await write(async (transaction) => {
    const mayBeFull = isFull !== null || bound.maximum !== null;
    if (mayBeFull && !(await isRobotName(transaction, organizationId, name))) {
      const full = isFull ?? (await hasAddedAll(transaction, principal));
      if (full !== null) return full;
    }
    const registered = await upsertRobot(transaction, organizationId, registration, {
      ...identity,
      keepsEntry,
    });
    const { id: subjectId, previous_audit_id: previousId } = registered;
    const recent = registered.hasChanged ? await writeChange(transaction, registered, change) : null;
    const contested = recent?.contest?.at === now;
    const entry = { ...details, address, ...(contested ? { contested } : {}) };
    if (registered.isEntered) {
      await audit(transaction, author, { action: "robot.setup", subjectId, details: entry, previousId });
    }
    return { ...registered, contest: contested ? recent.contest : null };
  });
  if ("limit" in robot) {
    const party = robot.limit === "limits.robots.key" ? keyId : organizationId;
    limitsMet.note(robot.limit, { organizationId, party });
    return refuse("Conflict", robot.detail);
  }
  if (robot.isEntered) history.spend(principal, ENTRY_BYTES + Buffer.byteLength(JSON.stringify(details)));
  if (robot.change === "added") {
    room.organization.take(principal);
    room.key.take(principal);
  }
  // A new robot changes no fleet: members are selected when a fleet is created.
  if (robot.change === "refitted") nudge();
  machine.log.info(EVENT[robot.change], {
    request_id: author.requestId,
    credential_id: author.actor,
    robot_id: robot.id,
    configuration_digest: configurationDigest,
  });
  if (robot.contest !== null) {
    const { since } = robot.contest;
    machine.log.warn("robot_contested", { request_id: author.requestId, robot_id: robot.id, name, address, since });
  }
  return answerJson(JSON.stringify({ robot: viewOf(robot) }));
}

/** Room below the limits on robots. */
interface Room {
  readonly key: RobotRoom;
  readonly organization: RobotRoom;
}

function createRoom(reader: Reader, limits: RobotLimits): Room {
  return {
    key: createRobotRoom("key_id", limits.key, ({ organization_id: organizationId, key_id: keyId }) =>
      countRobotsMadeBy(reader, organizationId, keyId),
    ),
    organization: createRobotRoom("organization_id", limits.organization, ({ organization_id: organizationId }) =>
      countRobots(reader, organizationId),
    ),
  };
}

/** Which limit forbids a new robot, and what the client is told. */
interface Full {
  readonly limit: "limits.robots.key" | "limits.robots.organization";
  readonly detail: string;
}

async function findFullLimit(room: Room, principal: Principal): Promise<Full | null> {
  if (await room.organization.isFull(principal)) {
    const detail = `An organization has ${room.organization.maximum} robots at most`;
    return { limit: "limits.robots.organization", detail };
  }
  return (await room.key.isFull(principal)) ? fullKey(room.key.maximum) : null;
}

/** Checks `max_robots` of a key, which must be exact. */
async function hasAddedAll(
  transaction: Transaction<Tables>,
  { organization_id: organizationId, key_id: keyId, robots: { maximum } }: Principal,
): Promise<Full | null> {
  if (maximum === null) return null;
  await holdKeyToAdd(transaction, organizationId, keyId);
  return (await countRobotsMadeBy(transaction, organizationId, keyId)) < maximum ? null : fullKey(maximum);
}

function fullKey(maximum: number): Full {
  const robots = maximum === 1 ? "one robot" : `${maximum} robots`;
  return { limit: "limits.robots.key", detail: `The API key has added ${robots}, as many as it may` };
}

/** `GET /v1/robots`: the robots of the organization, oldest first. */
export function listOrganizationRobots({ store }: OperationContext): Handler<null, PageQuery> {
  const cache = createListCache(store);
  return (call) => {
    const { organization_id: organizationId } = call.principal;
    const read = () =>
      answerList(call, {
        prefix: "rob",
        around: ["[", "]"],
        fetch: (range) => listRobots(store.reader, organizationId, range),
        view: viewOf,
      });
    const { limit, cursor } = call.query;
    return limit === undefined && cursor === undefined ? cache.answer(organizationId, read) : read();
  };
}

/** `GET /v1/robots/{robot}`: by id or name. */
export function getRobot({ store }: OperationContext): Handler<null> {
  return async ({ principal, path }) => {
    const robot = await findRobot(store.reader, principal.organization_id, path["robot"] ?? "");
    return robot === undefined ? UNKNOWN_ROBOT : answerJson(JSON.stringify(viewOf(robot)));
  };
}

/** A robot as the answers show it. */
function viewOf({ id, name, robot_type_id: robotTypeId, region, created_at: createdAt, site, labels }: RobotRow) {
  const parsed: unknown = JSON.parse(labels);
  return { id, name, robot_type_id: robotTypeId, region, created_at: createdAt, site, labels: parsed };
}
