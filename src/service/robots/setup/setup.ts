import type { RobotSetupRequest } from "../../../api/robots.ts";
import { isoNow } from "../../../platform/clock.ts";
import { presenceAt } from "../../identity/index.ts";
import type { PrincipalWrite } from "../../kernel/auth/credentials.ts";
import { type Answer, answerValue, isAnswer } from "../../kernel/http/answers.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../../kernel/operation.ts";
import { registrationDetails } from "../history/queries.ts";
import { identifiedRobotView } from "../views.ts";
import { type Registered, registrationOf } from "../queries.ts";
import type { RobotQuota } from "../quota.ts";
import { refuseName, register, type RegisterContext, type Setup, type SetupDone } from "./register.ts";

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
  const forbidden = refuseName(setup);
  if (forbidden !== null) return forbidden;
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
