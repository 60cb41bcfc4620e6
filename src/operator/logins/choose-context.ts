import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import type { ServiceFlags } from "../flags.ts";
import { contextAt, contextFilesOf, CONTEXT_VARIABLE, NO_HOME, nonEmpty } from "./choose-service.ts";
import type { ContextFiles, ServiceContext } from "./context-files.ts";

type ChosenContext =
  | { readonly kind: "context"; readonly context: ServiceContext; readonly contexts: ContextFiles }
  | { readonly kind: "no-context"; readonly problem: Problem; readonly exitCode: ExitCode };

/** Chooses a command's context: the named one, the one with the address of `--url`, or the current one. */
export async function chooseContext(
  flags: ServiceFlags,
  context: OperatorContext,
  given?: string,
): Promise<ChosenContext> {
  const contexts = contextFilesOf(context);
  if (contexts === null) return { kind: "no-context", problem: NO_HOME, exitCode: EXIT.failed };
  const named = given ?? flags.context;
  if (named === undefined && flags.url !== undefined) {
    const own = await contextAt(flags.url, contexts, context.terminal);
    if (own !== null) return { kind: "context", context: own, contexts };
    const what = `no context has the address ${flags.url}`;
    return { kind: "no-context", problem: { ...NO_CONTEXT, what }, exitCode: EXIT.usage };
  }
  const name = named ?? nonEmpty(context.environment[CONTEXT_VARIABLE]) ?? (await contexts.current());
  if (name === null) return { kind: "no-context", problem: NO_CONTEXT, exitCode: EXIT.usage };
  const found = await contexts.find(name);
  if (found.kind === "no-context") return { ...found, exitCode: EXIT.usage };
  return { kind: "context", context: found.context, contexts };
}

const NO_CONTEXT: Problem = {
  code: "no-context",
  what: "no context is current",
  fix: "name one; robot-policy contexts list shows all contexts, robot-policy login --url URL creates one",
};
