import type * as z from "zod";

import type { sessionViewSchema } from "../../../api/logins.ts";
import type { ApiKeyScope } from "../../../api/wire/scopes.ts";
import { createStore } from "../store.ts";
import type { Problem } from "./request.ts";
import { request } from "./request.ts";

export type SessionView = z.output<typeof sessionViewSchema>;

/** Who uses the console. `unknown` until the service has said. */
export type Session =
  | { readonly state: "unknown" }
  | { readonly state: "signed-out" }
  | { readonly state: "signed-in"; readonly view: SessionView }
  /** The service ended it: what the person was at waits until they are back. */
  | { readonly state: "ended"; readonly view: SessionView }
  | { readonly state: "failed"; readonly problem: Problem };

export const session = createStore<Session>({ state: "unknown" });

/** Pages of a browser share its cookie: when one signs in or out, the others look who they are now, before they act as somebody else. */
const others = new BroadcastChannel("robot-policy-session");
others.addEventListener("message", () => void readSession());

function tellOthers(): void {
  // A channel has no target: only pages of this origin are on it.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  others.postMessage(null);
}

/** Asks the service whether the browser has a session. */
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

/** @returns what is wrong with the key; null when the person is in. */
export async function signIn(apiKey: string): Promise<Problem | null> {
  const outcome = await request<SessionView>("POST", "/console/session", { body: { api_key: apiKey } });
  if (outcome.state === "aborted") return null;
  if (outcome.state === "failed") return outcome.problem;
  session.set({ state: "signed-in", view: outcome.value });
  tellOthers();
  return null;
}

/** Ends the session at the service; where that cannot be reached, tells so and stays signed in. */
export async function signOut(): Promise<Problem | null> {
  const outcome = await request<unknown>("DELETE", "/console/session");
  if (outcome.state === "failed" && outcome.problem.kind !== "unauthorized") return outcome.problem;
  session.set({ state: "signed-out" });
  tellOthers();
  return null;
}

/** For every answer that says that the session is over. */
export function sessionEnded(): void {
  const current = session.get();
  if (current.state === "signed-in") session.set({ state: "ended", view: current.view });
}

/** Who is at the page, or was until their session ended; null where nobody is known. */
export function sessionView(): SessionView | null {
  const current = session.get();
  return current.state === "signed-in" || current.state === "ended" ? current.view : null;
}

/** Whether the person's key may do this; the service decides, the page only does not offer what would be refused. */
export function mayDo(scope: ApiKeyScope): boolean {
  const scopes = sessionView()?.credential?.scopes ?? null;
  return scopes === null || scopes.includes(scope);
}
