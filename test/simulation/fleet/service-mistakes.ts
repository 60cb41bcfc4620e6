import type { KyselyPlugin } from "kysely";

import type { HttpAnswer, HttpRequest } from "../../../src/client/transport.ts";
import type { ServiceMachine } from "../../../src/service/machine.ts";
import type { Store } from "../../../src/service/store/store.ts";

/** A mistake in the service, made on purpose at one of the places where the simulation touches it. */
export interface ServiceMistake {
  readonly plugins: readonly KyselyPlugin[];
  machine(machine: ServiceMachine): ServiceMachine;
  store(store: Store): Store;
  answer(answer: HttpAnswer, request: HttpRequest): HttpAnswer;
}

export const NO_MISTAKE: ServiceMistake = {
  plugins: [],
  machine: (machine) => machine,
  store: (store) => store,
  answer: (answer) => answer,
};
