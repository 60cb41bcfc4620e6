import type { PageQuery } from "../../api/pages.ts";
import type { RobotSetup } from "../../api/robots.ts";
import type { PrincipalWrite } from "../auth/still-valid.ts";
import type { Answer, LongAnswer } from "../http/answers.ts";
import { answerJson, refuse } from "../http/answers.ts";
import { audit } from "../store/audit.ts";
import type { Authorship } from "../store/audit.ts";
import { writeChange } from "../store/recent-changes.ts";
import { registrationDetails, registrationHash } from "../store/robot-history.ts";
import { findRobot, isRobotName, joinRobots, registrationOf, upsertRobot } from "../store/robots.ts";
import type { Registered, Registration, RobotPart } from "../store/robots.ts";
import { createListCache } from "./list-cache.ts";
import { authorship } from "./operation.ts";
import type { Handler, OperationContext } from "./operation.ts";
import { nextPage, readPage } from "./paging.ts";
import { ROBOT_LIMITS } from "./robot-limits.ts";
import { createRobotRoom } from "./robot-room.ts";
import type { RobotRoom } from "./robot-room.ts";

/** Robots of a list that are held at once; a longer list is sent piece by piece. */
export const LIST_PART_ROWS = 2000;

/** One text, so that both say it alike. */
export const UNKNOWN_ROBOT = refuse("NotFound", "Robot not found");

const EVENT: Readonly<Record<Registered["change"], string>> = {
  added: "robot_registered",
  replaced: "robot_replaced",
  refitted: "robot_refitted",
};

/** `POST /v1/robots/setup`: answers once the registration is on the disk. In a full organization only robots it has may set up. */
export function setupRobot(context: SetupContext, limits = ROBOT_LIMITS): Handler<RobotSetup> {
  const { store, newId, machine } = context;
  const room = createRobotRoom(store.reader, limits.organization);
  // Not async itself: a call that waits would hold on to its parsed body, which can be fifty times what was sent.
  return (call) => {
    const now = new Date(machine.clock.wall_ms()).toISOString();
    const author = authorship(call, newId, now);
    return register(context, room, {
      organization_id: call.principal.organization_id,
      write: call.write,
      registration: registrationOf(call.body),
      id: newId("rob"),
      address: call.address,
      author,
    });
  };
}

type SetupContext = Pick<OperationContext, "store" | "newId" | "machine" | "nudge" | "limitsMet">;

interface RegisterWish {
  readonly organization_id: string;
  readonly write: PrincipalWrite;
  readonly registration: Registration;
  /** Of a robot that is new. */
  readonly id: string;
  readonly address: string;
  readonly author: Authorship;
}

async function register(
  { machine, nudge, limitsMet }: SetupContext,
  room: RobotRoom,
  { organization_id, write, registration, id, address, author }: RegisterWish,
): Promise<Answer> {
  const { name, configuration_digest } = registration;
  const { at: now, audit_id, actor } = author;
  const isFull = await room.isFull(organization_id);
  const details = registrationDetails(registration);
  const change = { at: now, body: registrationHash(details), address, actor };
  const identity = { id, now, audit_id, recent_changes: JSON.stringify([change]) };
  const robot = await write(async (transaction) => {
    if (isFull && !(await isRobotName(transaction, organization_id, name))) return null;
    const registered = await upsertRobot(transaction, organization_id, registration, identity);
    const { id: subject_id, previous_audit_id: previous_id } = registered;
    const recent = registered.hasChanged ? await writeChange(transaction, registered, change) : null;
    const contested = recent?.contest?.at === now;
    const entry = { ...details, address, ...(contested ? { contested } : {}) };
    await audit(transaction, author, { action: "robot.setup", subject_id, details: entry, previous_id });
    return { ...registered, contest: contested ? recent.contest : null };
  });
  if (robot === null) {
    limitsMet.note("limits.robots.organization", { organization_id, party: organization_id });
    return refuse("Conflict", `An organization has ${room.maximum} robots at most`);
  }
  if (robot.change === "added") room.take(organization_id);
  // A fleet's members are what they were when it was made: a new robot changes none.
  if (robot.change === "refitted") nudge();
  machine.log.info(EVENT[robot.change], {
    request_id: author.request_id,
    credential_id: author.actor,
    robot_id: robot.id,
    configuration_digest,
  });
  if (robot.contest !== null) {
    const { since } = robot.contest;
    machine.log.warn("robot_contested", { request_id: author.request_id, robot_id: robot.id, name, address, since });
  }
  return answerJson(`{"robot":${robot.view}}`);
}

/** `GET /v1/robots`: the robots of the organization, oldest first. */
export function listOrganizationRobots({ store }: OperationContext): Handler<null, PageQuery> {
  const cache = createListCache(store);
  return async ({ principal, query, url }) => {
    const page = readPage(query, "rob");
    if (page.state === "refused") return page.answer;
    const { organization_id } = principal;
    const { after } = page.range;
    const { limit } = query;
    const join = (from: string | null) =>
      joinRobots(store.reader, organization_id, { after: from, rows: limit ?? LIST_PART_ROWS });
    if (limit !== undefined) {
      const { list, next_after } = await join(after);
      return { ...answerJson(list), headers: next_after === null ? {} : nextPage(url, limit, next_after) };
    }
    if (after !== null) return wholeList(join, await join(after));
    return cache.answer(organization_id, async () => wholeList(join, await join(null)));
  };
}

/** `GET /v1/robots/{robot}`: by id or name. */
export function getRobot({ store }: OperationContext): Handler<null> {
  return async ({ principal, path }) => {
    const robot = await findRobot(store.reader, principal.organization_id, path["robot"] ?? "");
    return robot === undefined ? UNKNOWN_ROBOT : answerJson(robot.view);
  };
}

type Join = (after: string | null) => Promise<RobotPart>;

/** In one piece where it is short, else in parts, each as the store was when it was sent. */
function wholeList(join: Join, first: RobotPart): Answer | LongAnswer {
  if (first.next_after === null) return answerJson(first.list);
  return { status: 200, parts: listInParts(join, first) };
}

async function* listInParts(join: Join, first: RobotPart): AsyncGenerator<string> {
  yield first.list.slice(0, -1);
  for (let part = first; part.next_after !== null;) {
    part = await join(part.next_after);
    yield `,${part.list.slice(1, -1)}`;
  }
  yield "]";
}
