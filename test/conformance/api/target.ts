import type { Client } from "./client.ts";
import type { InferenceServer } from "./inference.ts";

/** The service under test: any number of replicas on any store. */
export interface Target extends AsyncDisposable {
  /** URL of one replica. */
  readonly url: string;
  /** Serves the endpoints of its catalog (catalog.ts). */
  readonly inference: InferenceServer;
  /** A new organization, with an unrestricted key. */
  organization(): Promise<Client>;
}
