/** The transaction of a setup: the robot's row, its audit entry, and what webhooks are told. */
import type { PresenceContext } from "../../installations/index.ts";
import type { Principal } from "../../kernel/auth/authenticate.ts";
import { type Answer, isAnswer, refuse } from "../../kernel/http/answers.ts";
import type { OperationContext } from "../../kernel/operation.ts";
import { audit, type Authorship } from "../../kernel/store/audit.ts";
import type { Transaction } from "../../kernel/store/store.ts";
import { announce } from "../../webhooks/index.ts";
import { type Contest, writeChange } from "../history/contest.ts";
import { changedMembers, registrationBefore, type registrationDetails, registrationHash } from "../history/queries.ts";
import { findIdentifiedRobot, type IdentifiedRow } from "../identified-robots.ts";
import { findContractBytes, type Registered, type Registration, upsertRobot } from "../queries.ts";
import { type Full } from "../room.ts";
import { takeOver } from "./take-over.ts";

export type RegisterContext = PresenceContext & Pick<OperationContext, "newId">;

/** What a setup asks for. The transaction may run twice, so ids and times are made before. */
export interface Wish {
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
  /** The limit that forbids new robots; null for none. */
  readonly full: Full | null;
  /** Whether a registration that changes nothing gets no audit entry. */
  readonly keepsEntry: boolean;
}

/** A refusal, and `full`, changed nothing. */
export type Outcome = Entered | ({ readonly state: "full" } & Full) | Answer;

export interface Entered {
  readonly state: "entered";
  readonly robot: Registered;
  readonly view: IdentifiedRow;
  /** The installation that this setup revoked. */
  readonly replacedId: string | null;
  /** The contest that this registration shows; null if it shows none. */
  readonly contest: Contest | null;
}

/** Refuses a robot that the principal may not register; null if it may. */
export function refuseName({ principal, registration }: Pick<Wish, "principal" | "registration">): Answer | null {
  const { robot: self } = principal;
  return self === null || self.name === registration.name ? null : refuseOther(self);
}

export async function register(transaction: Transaction, context: RegisterContext, wish: Wish): Promise<Outcome> {
  const full = await findLimitMet(transaction, wish);
  if (full !== null) return { state: "full", ...full };
  const placed = await place(transaction, context, wish);
  if (isAnswer(placed)) return placed;
  const { robot, replacedId } = placed;
  const contest = robot.hasChanged ? await noteContest(transaction, robot, wish) : null;
  await enter(transaction, wish, placed, contest !== null);
  await tell(transaction, context, wish, placed);
  const view = await viewRegistered(transaction, wish.principal.organizationId, robot);
  return { state: "entered", robot, view, replacedId, contest };
}

/** A full organization or key gets no new robots, and where bytes are the limit no larger contracts. */
async function findLimitMet(
  transaction: Transaction,
  { principal, registration: { name, contract }, full }: Wish,
): Promise<Full | null> {
  if (full === null) return null;
  const knownBytes = await findContractBytes(transaction, principal.organizationId, name);
  if (knownBytes === null) return full;
  const isLarger = Buffer.byteLength(contract ?? "") > knownBytes;
  return full.limit === "limits.stored_mib" && isLarger ? full : null;
}

interface Placed {
  readonly robot: Registered;
  /** The installation that was revoked for it. */
  readonly replacedId: string | null;
}

/** Writes the robot's row. Where another computer speaks for the robot, whoever may revokes its installation first. */
async function place(transaction: Transaction, context: RegisterContext, wish: Wish): Promise<Placed | Answer> {
  const { principal, registration, isConfirmed, author } = wish;
  const { organizationId, robot: self } = principal;
  const { name } = registration;
  if (self !== null && !(await isCalled(transaction, self, name))) return refuseOther(self);
  const identity = {
    id: wish.id,
    now: author.at,
    auditId: author.auditId,
    recentChanges: JSON.stringify([changeOf(wish)]),
    madeBy: principal.keyId,
    installationId: self === null ? null : principal.credentialId,
  };
  const keepsEntry = wish.keepsEntry ? 1 : 0;
  const robot = await upsertRobot(transaction, organizationId, registration, { ...identity, keepsEntry });
  if (robot !== null) return { robot, replacedId: null };
  if (self !== null) return refuseOther(self);
  const taken = await takeOver(transaction, { principal, name, isConfirmed, now: author.at }, context);
  if (isAnswer(taken)) return taken;
  const replacing = await upsertRobot(transaction, organizationId, registration, { ...identity, keepsEntry: 0 });
  if (replacing === null) throw new Error(`The robot ${name} is locked, and yet enrolled again`);
  return { robot: replacing, replacedId: taken.installationId };
}

function changeOf({ author, address, details }: Wish) {
  return { at: author.at, body: registrationHash(details), address, actor: author.actor };
}

/** Adds the change to the recent ones. @returns the contest that it shows. */
async function noteContest(transaction: Transaction, robot: Registered, wish: Wish): Promise<Contest | null> {
  const { contest } = await writeChange(transaction, robot, changeOf(wish));
  return contest?.at === wish.author.at ? contest : null;
}

async function enter(
  transaction: Transaction,
  { author, details, address }: Wish,
  { robot, replacedId }: Placed,
  contested: boolean,
): Promise<void> {
  if (!robot.isEntered) return;
  await audit(transaction, author, {
    action: replacedId === null ? "robot.setup" : "robot.replace_computer",
    subjectId: robot.id,
    details: {
      ...details,
      address,
      ...(contested ? { contested } : {}),
      ...(replacedId === null ? {} : { replaced_installation_id: replacedId }),
    },
    previousId: robot.previous_audit_id,
  });
}

/** Tells webhooks. */
async function tell(
  transaction: Transaction,
  { newId }: RegisterContext,
  { principal: { organizationId }, registration, details, author }: Wish,
  { robot, replacedId }: Placed,
): Promise<void> {
  const isNew = robot.change === "added";
  if (!isNew && !robot.hasChanged && replacedId === null) return;
  const { name, robot_type_id: robotTypeId, region, configuration_digest: configurationDigest } = registration;
  const before = isNew ? "first" : await registrationBefore(transaction, robot.previous_audit_id);
  const isFirst = before === "first";
  const event = {
    organizationId,
    type: isFirst ? ("robot.registered" as const) : ("robot.changed" as const),
    at: author.at,
    data: () => ({
      robot_id: robot.id,
      name,
      robot_type_id: robotTypeId,
      region,
      configuration_digest: configurationDigest,
      ...(isFirst ? {} : { changed: changedMembers(before, details) }),
      ...(replacedId === null ? {} : { replaced_installation_id: replacedId }),
    }),
  };
  await announce(transaction, { newId }, event);
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
