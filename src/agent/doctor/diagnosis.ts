/**
 * The diagnosis behind `doctor`: checks everything that can prevent registration, one check each.
 *
 * Independent checks run in parallel. On the way to the service each step waits for the one before and is skipped when that failed, so that
 * the first failure is the cause. Registers nothing, and writes nothing but a probe file in the state folder, removed at once.
 */
import { systemPrograms } from "../../platform/programs.ts";
import { EXIT } from "../../platform/terminal.ts";
import { findAgentUser } from "../access/agent-user.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Folders } from "../configuration/folders.ts";
import type { Registration } from "../registration/record.ts";
import { type Answer, checkClock, checkService, judgeKey, requestLimit } from "./answering.ts";
import {
  CHECK_IDS,
  type CheckId,
  type CheckResult,
  type Examination,
  examineHere,
  fail,
  skipAll,
  startExamination,
  type Subject,
  type Verdict,
} from "./check.ts";
import { checkDaemon, readEnvironment, unitFacts } from "./daemon.ts";
import { judgeIdentity } from "./identity.ts";
import { checkConfiguration, checkFiles, checkKey, checkManifest, judgeUser } from "./inputs.ts";
import { checkDisk, checkState } from "./keeping.ts";
import { reach } from "./reach.ts";
import { checkRegion, regionLimit, checkRegistration } from "./asking.ts";
import { askTimeService } from "./time-service.ts";
import { judgeUnit } from "./unit.ts";
import { checkInotify } from "./watching.ts";

/**
 * Yields every check once, in the order of `CHECK_IDS`, as soon as it and those before it are done.
 *
 * @throws `context.signal.reason` when it aborts.
 */
export async function* diagnose(context: CommandContext, folders: Folders): AsyncGenerator<CheckResult, void> {
  const subject = await openSubject(context, folders);
  yield* resultsOf(CHECK_IDS, subject.examination, examine(subject));
}

/** The checks on the way to the service. */
const SERVICE_CHECK_IDS = [
  "key",
  "dns",
  "tcp",
  "proxy",
  "tls",
  "service",
  "clock",
  "authentication",
  "region",
] as const;

async function openSubject(context: CommandContext, folders: Folders): Promise<Subject> {
  const { clock } = context.machine;
  const startedAtMs = clock.monotonicMs();
  const examination = startExamination(clock, context.signal);
  // Asked before the network, which may take all the time of the clock's check.
  const timeService = askTimeService(systemPrograms);
  const agentUser = await findAgentUser(context, folders);
  const shell = context.environment;
  return { examination, context, folders, agentUser, timeService, startedAtMs, status: null, shell };
}

async function* resultsOf(
  ids: readonly CheckId[],
  examination: Examination,
  work: Promise<void>,
): AsyncGenerator<CheckResult, void> {
  for (const id of ids) {
    yield await Promise.race([examination.result(id), work.then(() => examination.result(id))]);
  }
}

/** Asks the running agent first, because its errors are the real ones. */
async function examine(unasked: Subject): Promise<void> {
  const { folders, agentUser, shell } = unasked;
  const { files } = unasked.context.machine;
  const status = await examineHere(unasked, "daemon", (signal) =>
    checkDaemon(unasked.context, folders, agentUser, signal),
  );
  const context = { ...unasked.context, environment: (await readEnvironment(files, status)) ?? shell };
  const subject = { ...unasked, context, status };
  await Promise.all([
    examineHere(subject, "user", () => judgeUser(agentUser, context.userId)),
    examineHere(subject, "disk", () => checkDisk(context, folders, agentUser, status?.state_problem ?? null)),
    examineHere(subject, "unit", async () => judgeUnit(agentUser.unit, await unitFacts(folders, files))),
    examineHere(subject, "configuration", () => checkConfiguration(context, folders, agentUser)).then((configuration) =>
      configuration === null ? withoutConfiguration(subject) : configured(subject, configuration),
    ),
  ]);
}

async function withoutConfiguration(subject: Subject): Promise<void> {
  const { context, folders, agentUser, status } = subject;
  const ofService = SERVICE_CHECK_IDS.filter((id) => id !== "clock");
  skipAll(subject, ["manifest", "files", "identity", ...ofService, "registration"], "configuration");
  await Promise.all([
    examineHere(subject, "state", () => checkState(context, folders, null, agentUser)),
    examineHere(subject, "inotify", (signal) =>
      checkInotify(context, folders, null, null, agentUser, status?.watching ?? null, signal),
    ),
    judgeClock(subject, null),
  ]);
}

async function configured(subject: Subject, configuration: AgentConfiguration): Promise<void> {
  const { context, folders, agentUser, status } = subject;
  const state = examineHere(subject, "state", () => checkState(context, folders, configuration, agentUser));
  const identity = examineHere(subject, "identity", async () => {
    const verdict = await judgeIdentity(context, folders, configuration, status?.identity ?? null);
    return { verdict, value: verdict };
  });
  const files = async () => {
    const manifest = await examineHere(subject, "manifest", () => checkManifest(context, configuration, agentUser));
    if (manifest === null) skipAll(subject, ["files"], "manifest");
    else await examineHere(subject, "files", () => checkFiles(context, configuration, manifest, agentUser));
    await examineHere(subject, "inotify", (signal) =>
      checkInotify(context, folders, configuration, manifest, agentUser, status?.watching ?? null, signal),
    );
  };
  await Promise.all([state, files(), identity, examineService(subject, configuration, state, identity)]);
}

/**
 * @param state this robot's registration.
 * @param identified the verdict on its identity; null where it is not judged.
 */
async function examineService(
  subject: Subject,
  configuration: AgentConfiguration,
  state: Promise<Registration | null>,
  identified: Promise<Verdict | null>,
): Promise<void> {
  const { examination, context, folders, agentUser } = subject;
  const [credential, isReached] = await Promise.all([
    examineHere(subject, "key", async () => checkKey(context, folders, configuration, agentUser, await identified)),
    reach(subject, configuration),
  ]);
  const answer = isReached
    ? await examination.run("service", requestLimit(configuration), (signal) =>
        checkService(context, configuration, credential, signal),
      )
    : null;
  await judgeClock(subject, answer);
  if (answer === null) return skipAll(subject, ["authentication", "region", "registration"], "service");
  const region = () =>
    examination.run("region", regionLimit(configuration), async (signal) => {
      // Its approval may have given an enrolled robot another one than the configuration has.
      const registered = credential?.source === "enrolment" ? (await state)?.request.region : undefined;
      const { region: configured } = configuration.robot;
      return checkRegion(context, configuration.service, registered ?? configured, credential, signal);
    });
  if (credential === null) {
    await region();
    skipAll(subject, ["registration"], "authentication");
    const identity = await identified;
    // The way to the service is free: what is left to do is the enrolment.
    if (identity?.status !== "warn") return skipAll(subject, ["authentication"], "key");
    await examineHere(subject, "authentication", () => fail(EXIT.unauthorized, identity.what, identity.remedy));
    return;
  }
  await examineHere(subject, "authentication", async () => {
    return judgeKey(answer, await state, credential);
  });
  await region();
  // The agent has a later registration than the saved one.
  if ((subject.status?.state_problem ?? null) !== null) return skipAll(subject, ["registration"], "disk");
  await examination.run("registration", requestLimit(configuration), async (signal) =>
    checkRegistration(context, configuration, credential, await state, signal),
  );
}

async function judgeClock(subject: Subject, answer: Answer | null): Promise<void> {
  const { clock } = subject.context.machine;
  await examineHere(subject, "clock", async () => checkClock(clock, answer, await subject.timeService));
}
