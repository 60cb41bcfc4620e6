import type { RobotSetupRequest } from "../../api/robots.ts";
import { isoNow } from "../../platform/clock.ts";
import { isRobotOnline, presenceAt, type PresenceContext, revokeInstallationOf } from "../identity/index.ts";
import type { PrincipalWrite } from "../kernel/auth/credentials.ts";
import { type Answer, answerValue, isAnswer, refuse } from "../kernel/http/answers.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import {
  boundHistory,
  changedMembers,
  type Contest,
  contestShownBy,
  isRegistration,
  lastEntries,
  type RecordedRegistration,
  registrationDetails,
  REGISTRATIONS_COMPARED,
} from "./history.ts";
import { findIdentifiedRobot, identifiedRobotView, type IdentifiedRow } from "./views.ts";
import { isRegistered, type Registered, type Registration, registrationOf, upsertRobot } from "./robots.ts";
import { keepContract } from "./parts.ts";
import type { RobotQuota } from "./quota.ts";
import { isAllowed, type Principal } from "../kernel/auth/authenticate.ts";
import { audit, type Authorship } from "../kernel/store/audit.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { announce } from "../webhooks/index.ts";
import { lockRobotNamed } from "./enrolled-robot.ts";

type SetupContext = RegisterContext & Pick<OperationContext, "machine" | "nudge">;

const EVENT: Readonly<Record<Registered["change"], string>> = {
  added: "robot_registered",
  replaced: "robot_replaced",
  refitted: "robot_refitted",
};

/** `POST /v1/robots/setup`: answers once the registration is on the disk. In a full organization only existing robots may set up. */
export function setupRobot(context: SetupContext, quota: RobotQuota): Handler<RobotSetupRequest> {
  const { newId, machine } = context;
  // Not async: a waiting call would keep its parsed body in memory, which can be fifty times the size of what was sent.
  return (call) => {
    const registration = registrationOf(call.body);
    const setup = {
      principal: call.principal,
      registration,
      details: registrationDetails(registration),
      isConfirmed: call.body.confirm_replace === true,
      id: newId("rob"),
      address: call.address,
      author: authorship(call, newId, isoNow(machine.clock)),
    };
    return setUp(context, quota, setup, call.write);
  };
}

async function setUp(
  context: SetupContext,
  quota: RobotQuota,
  setup: Omit<Setup, "quotaRefusal">,
  write: PrincipalWrite,
): Promise<Answer> {
  const quotaRefusal = await quota.refusal(setup.principal);
  const done = await write((transaction) => register(transaction, context, { ...setup, quotaRefusal }));
  if (isAnswer(done)) return done;
  // A new robot changes no fleet before its check, which has its own interval.
  if (done.robot.change === "refitted") context.nudge();
  logRegistration(context, setup, done);
  const presence = presenceAt(Date.parse(setup.author.at), context);
  return answerValue({ robot: identifiedRobotView(done.view, presence) });
}

function logRegistration(
  { machine }: SetupContext,
  { registration, author, address }: Pick<Setup, "registration" | "author" | "address">,
  { robot, replacedId, contest }: SetupDone,
): void {
  logChange(machine, EVENT[robot.change], author, {
    robot_id: robot.id,
    configuration_digest: registration.configuration_digest,
    ...(replacedId === null ? {} : { replaced_installation_id: replacedId }),
  });
  if (contest === null) return;
  const { name } = registration;
  const { since } = contest;
  machine.log.warn("robot_contested", { request_id: author.requestId, robot_id: robot.id, name, address, since });
}

type RegisterContext = PresenceContext & Pick<OperationContext, "newId">;

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

interface SetupDone {
  readonly robot: Registered;
  readonly view: IdentifiedRow;
  /** The installation that this setup revoked. */
  readonly replacedId: string | null;
  /** The contest that this registration shows; null if it shows none. */
  readonly contest: Contest | null;
}

/** @returns a refusal, which changed nothing, or what was registered. */
export async function register(
  transaction: Transaction,
  context: RegisterContext,
  setup: Setup,
): Promise<SetupDone | Answer> {
  const { principal, registration, quotaRefusal } = setup;
  const { organizationId, robot: self } = principal;
  const { name } = registration;
  if (self !== null && !(await isCalled(transaction, self, name))) return refuseOther(self);
  if (quotaRefusal !== null && !(await isRegistered(transaction, organizationId, name))) {
    return refuse("Conflict", quotaRefusal);
  }
  const written = await writeRobot(transaction, context, setup);
  if (isAnswer(written)) return written;
  const { robot, replacedId } = written;
  const isNew = robot.change === "added";
  const contest =
    isNew || robot.hasChanged || replacedId !== null ? await record(transaction, context, setup, written) : null;
  const view = await viewRegistered(transaction, organizationId, robot);
  return { robot, view, replacedId, contest };
}

interface Written {
  readonly robot: Registered;
  /** The installation that was revoked for it. */
  readonly replacedId: string | null;
}

/** Writes the robot's row. Where another computer speaks for the robot, whoever may revokes its installation first. */
async function writeRobot(transaction: Transaction, context: RegisterContext, setup: Setup): Promise<Written | Answer> {
  const { principal, registration, author } = setup;
  const { organizationId, robot: self } = principal;
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
  const taken = await takeOver(transaction, context, setup);
  if (isAnswer(taken)) return taken;
  const replacing = await upsertRobot(transaction, organizationId, registration, identity);
  if (replacing === null) throw new Error(`The robot ${registration.name} is locked, and yet enrolled again`);
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
  const { contract } = setup.registration;
  if (contract !== null) await keepContract(transaction, principal.organizationId, author.auditId, contract);
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

/**
 * Revokes the installation of a robot that a key or a session registers, so that whoever registers it speaks for it.
 *
 * @returns a refusal, or the id of the installation, which is null if none was left.
 */
async function takeOver(
  transaction: Transaction,
  context: PresenceContext,
  { principal, registration, isConfirmed, author }: Setup,
): Promise<Answer | { readonly installationId: string | null }> {
  const { organizationId } = principal;
  const { name } = registration;
  const robot = await lockRobotNamed(transaction, organizationId, name);
  if (robot === undefined || robot.installation_id === null) return { installationId: null };
  if (!isAllowed(principal, "robots:write")) return refuseEnrolled(name);
  const presence = presenceAt(Date.parse(author.at), context);
  if (!isConfirmed && (await isRobotOnline(transaction, robot, presence))) return refuseOnline(name);
  return { installationId: await revokeInstallationOf(transaction, organizationId, robot.id, author.at) };
}

function refuseEnrolled(name: string): Answer {
  const detail = `The robot ${JSON.stringify(name)} is enrolled, and registers with its own credential; to replace its computer, use a key with the scope robots:write`;
  return refuse("Forbidden", detail, {}, "scope");
}

function refuseOnline(name: string): Answer {
  const detail = `The robot ${JSON.stringify(name)} is online with a credential of its own; to replace its computer, register again with confirm_replace`;
  return refuse("Conflict", detail, {}, "robot_online");
}
