import type * as z from "zod";

import type { sessionViewSchema } from "../../../api/logins.ts";
import type { ApiKeyScope } from "../../../api/wire/scopes.ts";
import { createStore } from "../store.ts";
import { type Problem, request } from "./request.ts";

export type SessionView = z.output<typeof sessionViewSchema>;

/** The session of the browser; `unknown` before the first answer. */
export type Session =
  | { readonly state: "unknown" }
  | { readonly state: "signed-out" }
  | { readonly state: "signed-in"; readonly view: SessionView }
  /** The service ended it. The page keeps its state until the person signs in again. */
  | { readonly state: "ended"; readonly view: SessionView }
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
  const { state } = session.get();
  if (outcome.state === "answered") session.set({ state: "signed-in", view: outcome.value });
  if (outcome.state !== "failed") return;
  const { problem } = outcome;
  const isNew = state === "unknown" || state === "failed";
  if (problem.kind === "unauthorized" && !isNew) sessionEnded();
  else if (isNew) session.set(problem.kind === "unauthorized" ? { state: "signed-out" } : { state: "failed", problem });
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
  session.set({ state: "signed-out" });
  tellOthers();
  return null;
}

/** Call it for every answer that says that the session has ended. */
export function sessionEnded(): void {
  const current = session.get();
  if (current.state === "signed-in") session.set({ state: "ended", view: current.view });
}

/** The current session, or the one that ended last; null if there was none. */
export function sessionView(): SessionView | null {
  const current = session.get();
  return current.state === "signed-in" || current.state === "ended" ? current.view : null;
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
