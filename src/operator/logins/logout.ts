import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { OperatorContext, OperatorFlags } from "../context.ts";
import { failureInWords } from "../failure.ts";
import { chooseContext } from "./choose-context.ts";
import { endLogin } from "./login.ts";

/** `logout`: ends the login at the service and forgets it here; without a network it is forgotten all the same. */
export async function logout(flags: OperatorFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal } = context;
  const chosen = await chooseContext(flags, context);
  if (chosen.kind === "no-context") {
    terminal.problem(chosen.problem);
    return chosen.exitCode;
  }
  const { context: known, contexts } = chosen;
  const { login, name } = known;
  if (login === null) {
    if (flags.json === true) terminal.json({ context: name, ended: false, forgotten: false });
    else terminal.print(`Nobody is signed in to ${name}.`);
    return EXIT.ok;
  }
  // Forgotten first: whatever becomes of the rest, this computer has it no more.
  const unsaved = await contexts.save({ ...known, login: null });
  if (unsaved !== null) {
    terminal.problem(unsaved);
    return EXIT.failed;
  }
  const failure = await endLogin(known, login, context);
  if (failure !== null) {
    const until = login.expires_at === null ? "it expires" : login.expires_at;
    terminal.note(
      `The service could not be told (${failureInWords(failure)}): there the login is good until ${until}.`,
    );
  }
  if (flags.json === true) terminal.json({ context: name, ended: failure === null, forgotten: true });
  else terminal.print(`Signed out of ${name}.`);
  return EXIT.ok;
}
