import type { Principal } from "../auth/authenticate.ts";
import type { Answer } from "../http/answers.ts";
import type { NewId } from "../ids.ts";
import type { ServiceMachine } from "../machine.ts";
import type { Store } from "../store/store.ts";

/** What operations work with. */
export interface OperationContext {
  readonly store: Store;
  readonly newId: NewId;
  readonly machine: ServiceMachine;
}

/** One request that was authenticated, allowed and validated. */
export interface Call<Body> {
  readonly principal: Principal;
  readonly body: Body;
  /** Path parameters, decoded. */
  readonly path: Readonly<Record<string, string>>;
  readonly request_id: string;
}

export type Handler<Body> = (call: Call<Body>) => Promise<Answer>;
