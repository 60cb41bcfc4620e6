import { errorCode } from "../platform/files/files.ts";
import type { Problem } from "../platform/terminal.ts";
import { formatListenAddress, type ListenAddress } from "./kernel/connections/listen-address.ts";
import { storeProblem } from "./kernel/store/store-problem.ts";
import type { StoreLocation } from "./kernel/store/store.ts";

interface ListenProblem {
  readonly what: string;
  readonly fix: string;
}

const CHOOSE_ANOTHER = "choose another address with --listen HOST:PORT";
const UNIT = "robot-policy-service.service";

const LISTEN_PROBLEMS: ReadonlyMap<string, ListenProblem> = new Map([
  ["EADDRINUSE", { what: "another program listens there", fix: CHOOSE_ANOTHER }],
  ["EADDRNOTAVAIL", { what: "this computer does not have that address", fix: CHOOSE_ANOTHER }],
  ["ENOTFOUND", { what: "there is no such host", fix: CHOOSE_ANOTHER }],
  ["EAI_AGAIN", { what: "the host name could not be resolved", fix: CHOOSE_ANOTHER }],
  ["EAFNOSUPPORT", { what: "this computer has no addresses of that kind, or withholds them", fix: CHOOSE_ANOTHER }],
  [
    "ERR_SYSTEM_ERROR",
    {
      what: "the system withholds the addresses of this computer",
      fix: `under systemd, add AF_NETLINK to RestrictAddressFamilies= of the unit, as in ${UNIT}`,
    },
  ],
]);

const PRIVILEGED_PORT: ListenProblem = {
  what: "ports below 1024 need the capability CAP_NET_BIND_SERVICE",
  fix: `under systemd, the unit gives it with AmbientCapabilities=, as ${UNIT} does; otherwise choose a port from 1024 on`,
};

/** The message for a service that could not start; null for a bug. */
export function startProblem(
  error: unknown,
  { store, listen }: { readonly store: StoreLocation; readonly listen: ListenAddress },
): Problem | null {
  return listenProblem(error, listen) ?? storeProblem(error, store);
}

/** As `startProblem`, for errors of listening only. */
export function listenProblem(error: unknown, listen: ListenAddress): Problem | null {
  if (!isListenError(error)) return null;
  const code = errorCode(error) ?? "";
  const isPrivileged = code === "EACCES" && listen.port < 1024 && listen.port !== 0;
  const problem = isPrivileged ? PRIVILEGED_PORT : LISTEN_PROBLEMS.get(code);
  return problem === undefined ? null : { code: "cannot-listen", ...problem, where: formatListenAddress(listen) };
}

const LISTEN_CALLS: ReadonlySet<unknown> = new Set(["listen", "bind", "getaddrinfo", "uv_interface_addresses"]);

/** Connections to a database fail with the same codes, but in other system calls. */
function isListenError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && LISTEN_CALLS.has(error.syscall);
}

export function modelsRefused(path: string): Problem {
  return {
    code: "models-refused",
    what: "the model catalog cannot be applied",
    where: path,
    fix: `correct the errors above, then check the catalog with: robot-policy-service models apply --dry-run ${path}`,
  };
}
