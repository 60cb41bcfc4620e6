/** The transaction of a setup: the robot's row, its audit entry, and the event for webhooks. */
import type { PresenceContext } from "../../identity/index.ts";
import type { Principal } from "../../kernel/auth/authenticate.ts";
import { type Answer, isAnswer, refuse } from "../../kernel/http/answers.ts";
import type { OperationContext } from "../../kernel/operation.ts";
import { audit, type Authorship } from "../../kernel/store/audit.ts";
import { prepare } from "../../kernel/store/prepared.ts";
import type { Transaction } from "../../kernel/store/store.ts";
import type { Tables } from "../../kernel/store/tables.ts";
import { announce } from "../../webhooks/index.ts";
import { type Contest, contestShownBy } from "../history/contest.ts";
import {
  boundHistory,
  changedMembers,
  isRegistration,
  lastEntries,
  type RecordedRegistration,
  type registrationDetails,
  REGISTRATIONS_COMPARED,
} from "../history/queries.ts";
import { findIdentifiedRobot, type IdentifiedRow } from "../views.ts";
import { isRegistered, type Registered, type Registration, upsertRobot } from "../queries.ts";
import { takeOver } from "./take-over.ts";

export type RegisterContext = PresenceContext & Pick<OperationContext, "newId">;

/** A setup to register. The transaction may run twice, so ids and times are made before. */
export interface Setup {
  readonly principal: Principal;
  readonly registration: Registration;
  /** Of the registration, for the audit log. */
  readonly details: ReturnType<typeof registrationDetails>;
  /** Whether the computer of a robot that is online may be replaced. */
  readonly isConfirmed: boolean;
  /** Id of the robot if it is new. */
  readonly id: string;
  readonly address: string;
  readonly author: Authorship;
  /** Why the robot is refused if it is new; null if it may be. */
  readonly quotaRefusal: string | null;
}

export interface SetupDone {
  readonly robot: Registered;
  readonly view: IdentifiedRow;
  /** The installation that this setup revoked. */
  readonly replacedId: string | null;
  /** The contest that this registration shows; null if it shows none. */
  readonly contest: Contest | null;
}

/** Refuses a robot that the principal may not register; null if it may. */
export function refuseName({ principal, registration }: Pick<Setup, "principal" | "registration">): Answer | null {
  const { robot: self } = principal;
  return self === null || self.name === registration.name ? null : refuseOther(self);
}

/** @returns a refusal, which changed nothing, or what was registered. */
export async function register(
  transaction: Transaction,
  context: RegisterContext,
  setup: Setup,
): Promise<SetupDone | Answer> {
  const refusal = await refuseNew(transaction, setup);
  if (refusal !== null) return refuse("Conflict", refusal);
  const written = await writeRobot(transaction, context, setup);
  if (isAnswer(written)) return written;
  const { robot, replacedId } = written;
  const isNew = robot.change === "added";
  const contest =
    isNew || robot.hasChanged || replacedId !== null ? await record(transaction, context, setup, written) : null;
  const view = await viewRegistered(transaction, setup.principal.organizationId, robot);
  return { robot, view, replacedId, contest };
}

/** A full organization or key gets no new robots. */
async function refuseNew(
  transaction: Transaction,
  { principal, registration, quotaRefusal }: Setup,
): Promise<string | null> {
  if (quotaRefusal === null) return null;
  return (await isRegistered(transaction, principal.organizationId, registration.name)) ? null : quotaRefusal;
}

interface Written {
  readonly robot: Registered;
  /** The installation that was revoked for it. */
  readonly replacedId: string | null;
}

/** Writes the robot's row. Where another computer speaks for the robot, whoever may revokes its installation first. */
async function writeRobot(transaction: Transaction, context: RegisterContext, setup: Setup): Promise<Written | Answer> {
  const { principal, registration, isConfirmed, author } = setup;
  const { organizationId, robot: self } = principal;
  const { name } = registration;
  if (self !== null && !(await isCalled(transaction, self, name))) return refuseOther(self);
  const identity = {
    id: setup.id,
    now: author.at,
    auditId: author.auditId,
    madeBy: principal.keyId,
    installationId: self === null ? null : principal.credentialId,
  };
  const robot = await upsertRobot(transaction, organizationId, registration, identity);
  if (robot !== null) return { robot, replacedId: null };
  if (self !== null) return refuseOther(self);
  const taken = await takeOver(transaction, { principal, name, isConfirmed, now: author.at }, context);
  if (isAnswer(taken)) return taken;
  const replacing = await upsertRobot(transaction, organizationId, registration, identity);
  if (replacing === null) throw new Error(`The robot ${name} is locked, and yet enrolled again`);
  return { robot: replacing, replacedId: taken.installationId };
}

/** Writes the audit entry of a registration that changed something, and the event. @returns the contest that it shows. */
async function record(
  transaction: Transaction,
  context: RegisterContext,
  setup: Setup,
  written: Written,
): Promise<Contest | null> {
  const { principal, author, details, address } = setup;
  const { robot, replacedId } = written;
  const entries =
    robot.change === "added"
      ? []
      : await lastEntries(transaction, principal.organizationId, robot.id, REGISTRATIONS_COMPARED);
  const earlier = entries.filter(isRegistration);
  const newest = { at: author.at, actor: author.actor, details: { ...details, address } };
  const contest = robot.hasChanged ? contestShownBy(newest, earlier, robot) : null;
  if (contest !== null) await writeContest(transaction, { id: robot.id, ...contest });
  await audit(transaction, author, {
    action: replacedId === null ? "robot.setup" : "robot.replace_computer",
    subjectId: robot.id,
    details: {
      ...newest.details,
      ...(contest === null ? {} : { contested: true }),
      ...(replacedId === null ? {} : { replaced_installation_id: replacedId }),
    },
  });
  if (entries.length > 0) await boundHistory(transaction, robot.id);
  const isFirst = robot.change === "added" || (entries.length > 0 && earlier.length === 0);
  await announceRegistration(transaction, context, setup, written, isFirst ? "first" : earlier[0]);
  return contest;
}

const writeContest = prepare<Contest & { readonly id: string }, never>((database, parameter) =>
  database
    .updateTable("robots")
    .set({ contested_since: parameter("since"), contested_at: parameter("at") })
    .where("id", "=", parameter("id")),
);

/** @param before the registration before; undefined if the audit log does not have it any more. */
async function announceRegistration(
  transaction: Transaction,
  { newId }: RegisterContext,
  { principal: { organizationId }, registration, details, author }: Setup,
  { robot, replacedId }: Written,
  before: RecordedRegistration | "first" | undefined,
): Promise<void> {
  const { name, robot_type_id: robotTypeId, region, configuration_digest: configurationDigest } = registration;
  const changed = before === undefined || before === "first" ? null : changedMembers(before.details, details);
  await announce(
    transaction,
    { newId },
    {
      organizationId,
      type: before === "first" ? "robot.registered" : "robot.changed",
      at: author.at,
      data: () => ({
        robot_id: robot.id,
        name,
        robot_type_id: robotTypeId,
        region,
        configuration_digest: configurationDigest,
        ...(before === "first" ? {} : { changed }),
        ...(replacedId === null ? {} : { replaced_installation_id: replacedId }),
      }),
    },
  );
}

/** Only a robot that is enrolled has what this query adds. */
async function viewRegistered(
  transaction: Transaction,
  organizationId: string,
  registered: Registered,
): Promise<IdentifiedRow> {
  const unknown = { ...registered, installation_state: null, last_seen_at: null, readiness: null, reason: null };
  if (registered.installation_id === null) return unknown;
  return (await findIdentifiedRobot(transaction, organizationId, registered.id)) ?? unknown;
}

/** Whether the robot still has this name: a rename may have come between. Holds its row. */
async function isCalled(
  transaction: Transaction,
  { id }: Pick<Tables["robots"], "id">,
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
