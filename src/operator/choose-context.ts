import type { ExitCode, Problem } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import { baseUrl, contextFilesOf, CONTEXT_VARIABLE, NO_HOME } from "./choose-service.ts";
import type { ContextFiles, ServiceContext } from "./context-files.ts";
import type { OperatorContext, OperatorFlags } from "./operator.ts";

export type ChosenContext =
  | { readonly kind: "context"; readonly context: ServiceContext; readonly contexts: ContextFiles }
  | { readonly kind: "no-context"; readonly problem: Problem; readonly exit_code: ExitCode };

/** The context a command is about: the one that is named, that has the address of `--url`, or the current one. */
export async function chooseContext(
  flags: OperatorFlags,
  context: OperatorContext,
  given?: string,
): Promise<ChosenContext> {
  const contexts = contextFilesOf(context);
  if (contexts === null) return { kind: "no-context", problem: NO_HOME, exit_code: EXIT.failed };
  const named = given ?? flags.context ?? (flags.url === undefined ? undefined : await nameOf(flags.url, contexts));
  const from_environment = context.environment[CONTEXT_VARIABLE] ?? "";
  const name = named ?? (from_environment === "" ? await contexts.current() : from_environment);
  if (name === null) return { kind: "no-context", problem: NO_CONTEXT, exit_code: EXIT.usage };
  const found = await contexts.find(name);
  if (found.kind === "no-context") return { ...found, exit_code: EXIT.usage };
  return { kind: "context", context: found.context, contexts };
}

const NO_CONTEXT: Problem = {
  code: "no-context",
  what: "no context is current",
  fix: "name one; robot-policy contexts list shows what there is, robot-policy login --url URL makes one",
};

/** The name of the context with this address; null for none. */
async function nameOf(url: string, contexts: ContextFiles): Promise<string | null> {
  for (const name of await contexts.names()) {
    const found = await contexts.find(name);
    if (found.kind === "context" && baseUrl(found.context.url) === baseUrl(url)) return name;
  }
  return null;
}
