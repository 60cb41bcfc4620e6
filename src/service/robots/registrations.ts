import type { RegistrationSummary, RegistrationView } from "../../api/registrations.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import type { PageQuery } from "../../api/wire/pages.ts";
import { answerJson } from "../kernel/http/answers.ts";
import { answerList, ITEMS } from "../kernel/lists/answer-list.ts";
import { inRange, type PageRange } from "../kernel/lists/pages.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { nameActors } from "../audit/index.ts";
import { findRobot, liveRobots } from "./robots.ts";
import { maySee, UNKNOWN_ROBOT } from "./views.ts";
import { currentContest, isRegistration, lastEntries, REGISTRATIONS_COMPARED, sourcesSince } from "./history.ts";
import { hasParts } from "./parts.ts";
import { parseRefusal } from "./refusals.ts";

/** `GET /v1/robots/{robot}/registration`: the robot's last registration, with the contract as it was sent. */
export function getRegistration({ store, machine }: OperationContext): Handler<null> {
  return async ({ principal, path }) => {
    const { organizationId } = principal;
    const robot = await findRobot(store.reader, organizationId, path["robot"] ?? "");
    if (robot === undefined || !maySee(principal, robot)) return UNKNOWN_ROBOT;
    const row = await liveRobots(store.reader, organizationId)
      .selectAll()
      .where("id", "=", robot.id)
      .executeTakeFirst();
    if (row === undefined) return UNKNOWN_ROBOT;
    const { robot_type_id: robotTypeId, region, labels, contract } = row;
    const registration = summary(row, machine.clock.wallMs());
    const { contested_since: contestedSince } = registration;
    const contestedFrom =
      contestedSince === null ? [] : await readSources(store.reader, organizationId, robot.id, contestedSince);
    const members = JSON.stringify({
      ...registration,
      robot_type_id: robotTypeId,
      region,
      ...eachOf(ROBOT_TEXT_NAMES, (name) => row[name]),
      contested_from: contestedFrom,
      parts_recorded: await hasParts(store.reader, row.audit_id),
      last_refusal: await readRefusal(store.reader, organizationId, row.last_refusal),
    });
    // The stored text, because a contract may contain numbers that a double cannot represent.
    return answerJson(`${members.slice(0, -1)},"labels":${labels},"contract":${contract ?? "null"}}`);
  };
}

/** `GET /v1/me/registrations`: digest and times of every robot's last registration. */
export function listOrganizationRegistrations({ store, machine }: OperationContext): Handler<null, PageQuery> {
  return (call) =>
    answerList(call, {
      prefix: "rob",
      around: ITEMS,
      fetch: (range) => listRegistrations(store.reader, call.principal.organizationId, range),
      view: (row) => summary(row, machine.clock.wallMs()),
    });
}

function summary(row: RegistrationRow, nowMs: number): RegistrationSummary {
  return {
    robot_id: row.id,
    robot: row.name,
    configuration_digest: row.configuration_digest,
    changed_at: row.changed_at,
    registered_at: row.updated_at,
    contested_since: currentContest(row, nowMs)?.since ?? null,
  };
}

async function readRefusal(
  reader: Reader,
  organizationId: string,
  text: string | null,
): Promise<RegistrationView["last_refusal"]> {
  if (text === null) return null;
  const { actor: id, ...refusal } = parseRefusal(text);
  const names = await nameActors(reader, organizationId, [id]);
  return { ...refusal, actor: { id, label: names.get(id) ?? null } };
}

/** The clients that register a contested name, newest first. */
async function readSources(
  reader: Reader,
  organizationId: string,
  robotId: string,
  since: string,
): Promise<RegistrationView["contested_from"]> {
  const entries = await lastEntries(reader, organizationId, robotId, REGISTRATIONS_COMPARED);
  const sources = sourcesSince(since, entries.filter(isRegistration));
  const actors = sources.map(({ actor }) => actor);
  const names = await nameActors(reader, organizationId, actors);
  return sources.map(({ details: { address }, actor: id }) => ({
    address,
    actor: { id, label: names.get(id) ?? null },
  }));
}

/** A robot's last registration without its contract, which may be large. */
type RegistrationRow = Pick<Tables["robots"], (typeof COLUMNS)[number]>;

const COLUMNS = [
  "id",
  "name",
  "configuration_digest",
  "changed_at",
  "updated_at",
  "contested_since",
  "contested_at",
] as const;

/** The last registrations of an organization's robots, oldest robot first. */
function listRegistrations(reader: Reader, organizationId: string, range: PageRange): Promise<RegistrationRow[]> {
  return inRange(liveRobots(reader, organizationId).select(COLUMNS), "id", range).execute();
}
