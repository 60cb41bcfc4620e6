import { replaceDurably } from "../../platform/files/durable-file.ts";
import { EXIT } from "../../platform/terminal.ts";
import { KEY_LIMIT, setKey } from "../commands/set-key.ts";
import { resolveFolders } from "../configuration/folders.ts";
import { chooseAmong, noEndpointIn } from "../doctor/asking.ts";
import { diagnoseService } from "../doctor/diagnosis.ts";
import { isFile } from "./next-steps.ts";
import { unwritable } from "./places.ts";
import { type Answers, ask, askAnotherRegion, type Asker, GaveUp, type ServiceFailure } from "./questions.ts";
import { configurationOf, FILE_MODE, type InitContext, type Task } from "./task.ts";

/** The results of doctor's checks for a new configuration. */
interface ServiceTest {
  /** The failed checks, the cause first. */
  readonly failures: readonly ServiceFailure[];
  /** `untested` when the service was not reached; `missing` when the agent has no usable key. */
  readonly key: "accepted" | "refused" | "untested" | "missing";
  /** The service's regions when the configured one is not among them; empty otherwise. */
  readonly regionsInstead: readonly string[];
}

/**
 * Tests address, certificate, key and region at once.
 *
 * @returns null where the answers are too few for a test.
 * @throws `context.signal.reason` when it aborts.
 */
export async function tryService(answers: Answers, task: Task): Promise<ServiceTest | null> {
  const { options, context } = task;
  // Without a region there is no configuration to test with.
  const { configuration } = configurationOf({ ...answers, region: answers.region ?? "any" }, task);
  if (configuration === null) return null;
  const folders = resolveFolders(options, context.environment);
  const failures: ServiceFailure[] = [];
  let key: ServiceTest["key"] = "missing";
  let regionsInstead: readonly string[] = [];
  for await (const { id, verdict } of diagnoseService(context, folders, configuration)) {
    if (id === "key" && verdict.status === "ok") key = "untested";
    if (id === "authentication" && verdict.status !== "skip") key = verdict.status === "fail" ? "refused" : "accepted";
    if (verdict.status === "warn" && verdict.regions !== undefined) regionsInstead = verdict.regions;
    if (verdict.status !== "fail") continue;
    const { what, remedy, isAboutAuthority = false } = verdict;
    failures.push({ id, what, remedy, isAboutAuthority });
  }
  return { failures, key, regionsInstead };
}

export interface Tried {
  /** True when a key is installed, or access to it is unknown. */
  readonly hasKey: boolean;
  /** True when all that the service misses is a credential. */
  readonly canEnroll: boolean;
  readonly regionsInstead: ServiceTest["regionsInstead"];
}

export const NOT_TRIED: Tried = { hasKey: false, canEnroll: false, regionsInstead: [] };

/** Tests the written configuration, and asks for the key until the service accepts it or the person skips it. */
export async function tryKey(answers: Answers, hasPerson: boolean, task: Task): Promise<Tried> {
  const { paths, isTested, options, context } = task;
  let isPut = false;
  for (;;) {
    const test = isTested ? await tryService(answers, task) : null;
    if (test !== null) await showTest(test, answers.region, task);
    const regionsInstead = test?.regionsInstead ?? [];
    if (test?.key === "accepted") return { ...NOT_TRIED, hasKey: true, regionsInstead };
    const isWanted = test === null ? !isPut : test.key !== "untested";
    if (!isWanted || !hasPerson) return { ...NOT_TRIED, hasKey: isPut, regionsInstead };
    const key = await context.readSecret("API key (not shown; Enter alone: enroll instead, or later): ", KEY_LIMIT);
    context.signal.throwIfAborted();
    if (key === null || key === "") {
      const canEnroll = test?.key === "missing" && test.failures.every(({ id }) => id === "key");
      return { hasKey: isPut, canEnroll, regionsInstead };
    }
    const readSecret = async () => key;
    if ((await setKey({ ...options, config: paths.configuration }, { ...context, readSecret })) === EXIT.ok)
      isPut = true;
  }
}

/** When the service has no endpoint in the configured region, offers its regions and corrects the configuration. */
export async function offerRegions(regions: readonly string[], answers: Answers, task: Task): Promise<void> {
  const { paths, context } = task;
  const { terminal, machine } = context;
  const region = await askOnce((asker) => askAnotherRegion(regions, asker), context);
  if (region === null) return;
  const { text } = configurationOf({ ...answers, region }, task);
  try {
    await replaceDurably(machine.files, paths.configuration, Buffer.from(text), FILE_MODE);
  } catch (error) {
    // The file still has the region from before.
    terminal.problem({ ...unwritable(error, paths.configuration), fix: `write robot.region: ${region} into it` });
    return;
  }
  terminal.print(`Wrote ${paths.configuration}`);
}

/** Asks whether the robot enrolls now. */
export async function offerEnrolment({ context }: Task): Promise<boolean> {
  const question = "Enroll now: shows a code, and waits until an operator approves it (y; Enter alone: later): ";
  const problemOf = (answer: string) => (/^(y|yes)$/i.test(answer) ? null : "Answer y, or press Enter alone.");
  return (await askOnce((asker) => ask(question, problemOf, asker), context)) !== null;
}

/** @returns null where nobody answers. */
async function askOnce<T>(question: (asker: Asker) => Promise<T | null>, context: InitContext): Promise<T | null> {
  const { terminal, signal } = context;
  const questions = context.openQuestions();
  if (questions === null) return null;
  try {
    return await question({ questions, terminal, signal });
  } catch (error) {
    if (error instanceof GaveUp) return null;
    throw error;
  } finally {
    questions.close();
  }
}

async function showTest(
  { failures, key, regionsInstead }: ServiceTest,
  region: string | null,
  { paths, context }: Task,
): Promise<void> {
  const { terminal, machine } = context;
  // A missing key is a next step, not a failure.
  const hasKey = await isFile(machine.files, paths.key);
  const shown = failures.filter(({ id }) => id !== "key" || hasKey);
  for (const { what, remedy } of shown) terminal.warning(what, remedy);
  if (shown.length === 0) terminal.note(`The service answers${key === "accepted" ? ", and accepts the key" : ""}.`);
  if (region === null || regionsInstead.length === 0) return;
  terminal.warning(noEndpointIn(region, regionsInstead), chooseAmong(regionsInstead));
}
