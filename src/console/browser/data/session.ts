import type * as z from "zod";

import type { sessionViewSchema } from "../../../api/logins.ts";
import type { ApiKeyScope } from "../../../api/wire/scopes.ts";
import { createStore } from "../store.ts";
import { hasUnsaved } from "../unsaved.ts";
import { type Problem, request } from "./request.ts";

export type SessionView = z.output<typeof sessionViewSchema>;

/** The session of the browser; `unknown` before the first answer. */
export type Session =
  | { readonly state: "unknown" }
  /** `hasEnded`: the service ended the session, or another window did. */
  | { readonly state: "signed-out"; readonly hasEnded: boolean }
  | { readonly state: "signed-in"; readonly view: SessionView }
  | { readonly state: "failed"; readonly problem: Problem };

export const session = createStore<Session>({ state: "unknown" });

/** All windows share the cookie: when one signs in or out, the others read the session again. */
const others = new BroadcastChannel("robot-policy-session");
others.addEventListener("message", () => void readSession());

function tellOthers(): void {
  // A channel has no target: only pages of this origin are on it.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  others.postMessage(null);
}

export async function readSession(): Promise<void> {
  const outcome = await request<SessionView>("GET", "/v1/me/session");
  if (outcome.state === "answered") session.set({ state: "signed-in", view: outcome.value });
  if (outcome.state !== "failed") return;
  const { problem } = outcome;
  const { state } = session.get();
  if (problem.kind === "unauthorized" && state === "signed-in") sessionEnded();
  else if (problem.kind === "unauthorized" && state !== "signed-out")
    session.set({ state: "signed-out", hasEnded: false });
  else if (state === "unknown" || state === "failed") session.set({ state: "failed", problem });
}

/** @returns why signing in failed; null on success. */
export async function signIn(apiKey: string): Promise<Problem | null> {
  const outcome = await request<SessionView>("POST", "/console/session", { body: { api_key: apiKey } });
  if (outcome.state === "aborted") return null;
  if (outcome.state === "failed") return outcome.problem;
  session.set({ state: "signed-in", view: outcome.value });
  tellOthers();
  return null;
}

/** Ends the session at the service. @returns why that failed; the person then stays signed in. */
export async function signOut(): Promise<Problem | null> {
  const outcome = await request<unknown>("DELETE", "/console/session");
  if (outcome.state === "failed" && outcome.problem.kind !== "unauthorized") return outcome.problem;
  session.set({ state: "signed-out", hasEnded: false });
  tellOthers();
  return null;
}

/**
 * Call it for every answer that says that the session has ended. The page stays while it holds what would be lost, such as a key that is
 * shown once.
 */
export function sessionEnded(): void {
  if (session.get().state === "signed-in" && !hasUnsaved()) session.set({ state: "signed-out", hasEnded: true });
}

/** The current session; null if there is none. */
export function sessionView(): SessionView | null {
  const current = session.get();
  return current.state === "signed-in" ? current.view : null;
}

/** The scopes of the session; null if it may do everything. */
export function ownScopes(): readonly string[] | null {
  return sessionView()?.credential?.scopes ?? null;
}

/** Whether the session has the scope. The page hides what the service would refuse. */
export function mayDo(scope: ApiKeyScope): boolean {
  const scopes = ownScopes();
  return scopes === null || scopes.includes(scope);
}
