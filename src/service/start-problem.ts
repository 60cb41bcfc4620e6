import { errorCode } from "../platform/files.ts";
import type { Problem } from "../platform/terminal.ts";
import { formatListenAddress } from "./listen-address.ts";
import type { ListenAddress } from "./listen-address.ts";
import { storeProblem } from "./store/store-problem.ts";
import type { StoreLocation } from "./store/store.ts";

const LISTEN_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "Another program listens there."],
  ["EADDRNOTAVAIL", "This computer does not have that address."],
  ["ENOTFOUND", "There is no such host."],
  ["EAI_AGAIN", "The host name could not be resolved."],
]);

/** What a person can do about a service that could not start; null for a bug. */
export function startProblem(
  error: unknown,
  { store, listen }: { readonly store: StoreLocation; readonly listen: ListenAddress },
): Problem | null {
  const code = errorCode(error);
  const what = isListenError(error) ? listenProblem(code, listen) : null;
  if (what === null) return storeProblem(error, store);
  return {
    code: "cannot-listen",
    what,
    where: formatListenAddress(listen),
    fix: "Choose another address with --listen HOST:PORT.",
  };
}

/** The same codes come from the way to a database, but not from these calls. */
function isListenError(error: unknown): boolean {
  if (!(error instanceof Error) || !("syscall" in error)) return false;
  return error.syscall === "listen" || error.syscall === "bind" || error.syscall === "getaddrinfo";
}

function listenProblem(code: string | undefined, { port }: ListenAddress): string | null {
  if (code === "EACCES" && port < 1024 && port !== 0) return "Ports below 1024 need a privilege.";
  return LISTEN_PROBLEMS.get(code ?? "") ?? null;
}

export function alreadyInUse(directory: string): Problem {
  return {
    code: "data-directory-in-use",
    what: "Another robot-policy-service runs on this data directory.",
    where: directory,
    fix: "Stop the other one, or give this one a directory of its own with --data.",
  };
}

export function modelsRefused(path: string): Problem {
  return {
    code: "models-refused",
    what: "The model catalog cannot be applied.",
    where: path,
    fix: `Mend what is told above; see it again with: robot-policy-service models apply --dry-run ${path}`,
  };
}
