import type { Operation } from "../../../api/wire/operation.ts";
import { ROBOT_SCOPE, type Scope } from "../../../api/wire/scopes.ts";
import {
  authenticate,
  type Authentication,
  type CredentialRefusal,
  isAllowed,
  isForOnePurpose,
  type Owner,
  type Principal,
  type PrincipalRobot,
} from "../auth/authenticate.ts";
import { ROBOT_TOKEN_PREFIX } from "../auth/token.ts";
import type { OperationContext } from "../operation.ts";
import { createShared } from "../coalesce.ts";
import { readClientAddress } from "../traffic/client-address.ts";
import type { RateLimiter, Verdict } from "../traffic/rate-limiter.ts";
import { type Answer, refuse } from "./answers.ts";
import type { Arrival } from "./arrival.ts";

type Headers = Readonly<Record<string, string>>;
type CredentialScopes = Exclude<Operation["scopes"], "public" | "signed">;

/** `headers` go into every answer. `principal` is null for public operations, and may be null for open ones. */
export type Admission =
  | { readonly state: "admitted"; readonly principal: Principal | null; readonly headers: Headers }
  | { readonly state: "refused"; readonly owner: Owner | null; readonly answer: Answer };

/** Admits requests by rate limit, credential and scope, before their body is read. */
export interface Gate {
  admit(operation: Pick<Operation, "scopes" | "isOpen">, arrival: Arrival): Promise<Admission>;
}

/** The credentials of robots, which src/service/identity issues. */
export interface RobotCredentials {
  authenticate(token: string): Promise<Authentication>;
  /** Records the first accepted use of a credential. @throws StoreUnavailableError. */
  firstUsed(credential: PrincipalRobot["credential"]): Promise<void>;
  /**
   * A robot reports with a value although the one that displaced it is in use: two computers hold the key of the installation, the
   * owner. @returns why the request is refused: the installation may be frozen now.
   */
  copyReported(owner: Owner, address: string): Promise<CredentialRefusal>;
}

interface GateContext extends Pick<OperationContext, "store" | "machine" | "lastUsed" | "limitMet"> {
  readonly robots: RobotCredentials;
  /** Without a console, its earlier sessions are invalid. */
  readonly servesConsole: boolean;
}

export function createGate(
  { store, machine, lastUsed, limitMet, robots, servesConsole }: GateContext,
  limiter: RateLimiter,
): Gate {
  /** Shared, because robots of a site with one key may look it up thousands of times at once. */
  const identities = createShared<Authentication>();
  return {
    async admit({ scopes, isOpen = false }, { credential: shown, address }) {
      const client = readClientAddress(address);
      if (scopes === "public" || scopes === "signed" || (isOpen && shown === null)) {
        return admitted(null, scopes === "signed" ? limiter.onSigned(client) : limiter.onPublic(client));
      }
      const credential = shown?.kind === "console" && !servesConsole ? null : shown;
      const look = () =>
        credential?.kind === "bearer" && credential.token.startsWith(ROBOT_TOKEN_PREFIX)
          ? robots.authenticate(credential.token)
          : authenticate(store.lookup, machine.clock, credential);
      const authentication = await (credential === null
        ? look()
        : identities(`${credential.kind} ${credential.token}`, look));
      if (authentication.state === "unauthorized") {
        const { owner, robot } = authentication;
        // A value that was issued is no guess: a site full of robots whose credentials expired must hear that, and not 429.
        const isIssued = robot !== undefined && owner !== null;
        const verdict = isIssued ? limiter.onCredential(owner) : limiter.onAnonymous(client);
        if (verdict.state === "limited") return limited(verdict, owner);
        const isCopied = isIssued && robot.isCopied === true && isOwnReport(scopes);
        const refusal = isCopied ? await robots.copyReported(owner, address) : robot;
        const { code = "Unauthorized", reason, detail } = refusal ?? { detail: authentication.detail };
        const headers =
          code === "Unauthorized" ? { ...verdict.headers, "www-authenticate": "Bearer" } : verdict.headers;
        return refused(owner, refuse(code, detail, headers, reason));
      }
      const { principal } = authentication;
      lastUsed.note(principal);
      const verdict = limiter.onCredential(principal);
      if (verdict.state === "limited") return limited(verdict, principal);
      if (!mayUse(principal, scopes)) {
        return refused(principal, refuse("Forbidden", refusedScope(principal, scopes), verdict.headers, "scope"));
      }
      if (principal.robot?.credential.used_at === null) await robots.firstUsed(principal.robot.credential);
      return admitted(principal, verdict);
    },
  };

  function admitted(principal: Principal | null, verdict: Verdict): Admission {
    if (verdict.state === "limited") return limited(verdict, principal);
    return { state: "admitted", principal, headers: verdict.headers };
  }

  function limited({ by, answer }: Extract<Verdict, { readonly state: "limited" }>, owner: Owner | null): Admission {
    limitMet(`rate_limit.${by}`);
    return refused(owner, answer);
  }
}

function refused(owner: Owner | null, answer: Answer): Admission {
  return { state: "refused", owner, answer };
}

/** Whether only a robot itself may use the operations: a script may hold an old value, and sends no heartbeats. */
function isOwnReport(scopes: Operation["scopes"]): boolean {
  return Array.isArray(scopes) && scopes.every((scope) => scope === ROBOT_SCOPE);
}

function mayUse(principal: Principal, scopes: CredentialScopes): boolean {
  return scopes === "any" ? !isForOnePurpose(principal) : scopes.some((scope) => isAllowed(principal, scope));
}

function refusedScope({ robot }: Principal, scopes: CredentialScopes): string {
  if (robot !== null) return "The credential of a robot allows only to register, report and read the robot itself";
  return scopes === "any"
    ? "The API key can only enroll robots"
    : `The API key lacks the scope ${keyScopes(scopes).join(" or ")}`;
}

/** Without the scope that no key can have, unless it is the only one. */
function keyScopes(scopes: readonly Scope[]): readonly Scope[] {
  const others = scopes.filter((scope) => scope !== ROBOT_SCOPE);
  return others.length === 0 ? scopes : others;
}
