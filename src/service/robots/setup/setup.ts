import type { RobotSetupRequest } from "../../../api/robots.ts";
import { isoNow } from "../../../platform/clock.ts";
import { presenceAt } from "../../installations/index.ts";
import type { PrincipalWrite } from "../../kernel/auth/credentials.ts";
import { type Answer, answerValue, isAnswer, refuse } from "../../kernel/http/answers.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../../kernel/operation.ts";
import type { StoredBytes } from "../../organizations/index.ts";
import type { HistoryBudget } from "../history/budget.ts";
import { registrationDetails } from "../history/queries.ts";
import { identifiedRobotView } from "../identified-robots.ts";
import { type Registered, registrationOf } from "../queries.ts";
import { findFullLimit, type Room } from "../room.ts";
import { type Entered, refuseName, register, type RegisterContext, type Wish } from "./register.ts";

interface SetupContext extends RegisterContext, Pick<OperationContext, "machine" | "nudge" | "limitMet"> {
  readonly storedBytes: Pick<StoredBytes, "add">;
  readonly history: HistoryBudget;
}

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
    const registration = registrationOf(call.body);
    const wish = {
      principal: call.principal,
      registration,
      details: registrationDetails(registration),
      isConfirmed: call.body.confirm_replace === true,
      id: newId("rob"),
      address: call.address,
      author: authorship(call, newId, isoNow(machine.clock)),
    };
    return setUp(context, room, wish, call.write);
  };
}

async function setUp(
  context: SetupContext,
  room: Room,
  wish: Omit<Wish, "full" | "keepsEntry">,
  write: PrincipalWrite,
): Promise<Answer> {
  const { principal, author } = wish;
  const forbidden = refuseName(wish);
  if (forbidden !== null) return forbidden;
  const left = context.history.left(principal);
  if (left.state === "none") {
    context.limitMet(left.limit);
    return TOO_MUCH_HISTORY;
  }
  const full = await findFullLimit(room, principal);
  const registered = await write((transaction) =>
    register(transaction, context, { ...wish, full, keepsEntry: left.state === "little" }),
  );
  if (isAnswer(registered)) return registered;
  if (registered.state === "full") {
    context.limitMet(registered.limit);
    return refuse("Conflict", registered.detail);
  }
  account(context, room, wish, registered);
  // A new robot changes no fleet before its check, which has its own interval.
  if (registered.robot.change === "refitted") context.nudge();
  logRegistration(context, wish, registered);
  const presence = presenceAt(Date.parse(author.at), context);
  return answerValue({ robot: identifiedRobotView(registered.view, presence) });
}

/** Counts what was added, once it is committed. */
function account(
  { history, storedBytes }: SetupContext,
  room: Room,
  { principal, registration, details }: Pick<Wish, "principal" | "registration" | "details">,
  { robot }: Entered,
): void {
  if (robot.isEntered) history.spend(principal, Buffer.byteLength(JSON.stringify(details)));
  if (robot.change !== "added") return;
  const { contract, labels } = registration;
  storedBytes.add(principal.organizationId, Buffer.byteLength(contract ?? "") + Buffer.byteLength(labels));
  room.organization.take(principal);
  room.key.take(principal);
}

function logRegistration(
  { machine }: SetupContext,
  { registration, author, address }: Pick<Wish, "registration" | "author" | "address">,
  { robot, replacedId, contest }: Entered,
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
