import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import type { ServiceFlags } from "../flags.ts";
import { failureText } from "../failure.ts";
import { refuse } from "../refuse.ts";
import { chooseContext } from "./choose-context.ts";
import { nonEmpty, URL_VARIABLE } from "./choose-service.ts";
import { endLogin } from "./login.ts";

/** Ends the login at the service, and deletes it here even if the service cannot be reached. */
export async function logout(flags: ServiceFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal } = context;
  const url = flags.url ?? nonEmpty(context.environment[URL_VARIABLE]);
  const chosen = await chooseContext(url === undefined ? flags : { ...flags, url }, context);
  if (chosen.kind === "no-context") return refuse(chosen.problem, chosen.exitCode, terminal);
  const { context: known, contexts } = chosen;
  const { login, name } = known;
  if (login === null) {
    if (flags.json === true) terminal.json({ context: name, ended: false, forgotten: false });
    else terminal.print(`Nobody is signed in to ${name}.`);
    return EXIT.ok;
  }
  // Delete it here first, whether or not the service can be reached.
  const unsaved = await contexts.save({ ...known, login: null });
  if (unsaved !== null) return refuse(unsaved, EXIT.failed, terminal);
  const failure = await endLogin(known, login, context);
  if (failure !== null) {
    const until = login.expires_at === null ? "it expires" : login.expires_at;
    terminal.note(
      `The login could not be ended at the service (${failureText(failure)}): it stays valid there until ${until}.`,
    );
  }
  if (flags.json === true) terminal.json({ context: name, ended: failure === null, forgotten: true });
  else terminal.print(`Signed out of ${name}.`);
  return EXIT.ok;
}
