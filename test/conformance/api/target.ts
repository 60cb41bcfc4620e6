import type { Client } from "./client.ts";
import type { InferenceServer } from "./inference.ts";

/** A service to hold to the contract, however many processes it is and whatever it remembers with. */
export interface Target extends AsyncDisposable {
  /** Address of one of its processes. */
  readonly url: string;
  /** Where its catalog (catalog.ts) sends the prober. */
  readonly inference: InferenceServer;
  /** An organization that has nothing yet, and a key of it that may do everything. */
  organization(): Promise<Client>;
}
