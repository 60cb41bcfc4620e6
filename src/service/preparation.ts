import type { Finding } from "../documents/findings.ts";
import type { Problem } from "../platform/terminal.ts";
import { type CertificatePair, readCertificatePair, type TlsFiles } from "./kernel/connections/tls.ts";
import type { ServiceMachine } from "./kernel/machine.ts";
import type { OperationContext } from "./kernel/operation.ts";
import { openStore } from "./kernel/store/open-store.ts";
import { lockDirectory } from "./kernel/store/sqlite/database.ts";
import { alreadyInUse } from "./kernel/store/store-problem.ts";
import type { Store, StoreLocation } from "./kernel/store/store.ts";
import { bootstrapKey } from "./keys/bootstrap.ts";
import { applyModels } from "./models/apply.ts";
import { modelsRefused } from "./start-problem.ts";

/** The service cannot start. `findings` are those of the model catalog, if it is invalid. */
export interface Failed {
  readonly state: "failed";
  readonly problem: Problem;
  readonly findings?: readonly Finding[];
  /** Whether a given file is invalid on every machine. */
  readonly isInvalid?: true;
}

type Opened = { readonly state: "opened"; readonly store: Store } | Failed;

/** Reads the certificate; null without TLS. */
export async function readPair(
  tls: TlsFiles | null,
  { clock, files }: ServiceMachine,
): Promise<CertificatePair | Failed | null> {
  if (tls === null) return null;
  const reading = await readCertificatePair(files, tls, clock.wallMs());
  return reading.state === "read" ? reading.pair : { state: "failed", problem: reading.problem, isInvalid: true };
}

/** Opens the store, and locks a data directory for this process. `resources` releases both. */
export async function openLockedStore(
  location: StoreLocation,
  machine: ServiceMachine,
  resources: AsyncDisposableStack,
): Promise<Opened> {
  if (location.kind === "sqlite") {
    await machine.files.makeDirectory(location.dataDirectory, 0o700);
    const lock = lockDirectory(location.dataDirectory);
    if (lock === null) return { state: "failed", problem: alreadyInUse(location.dataDirectory) };
    resources.use(lock);
  }
  return { state: "opened", store: resources.use(await openStore(location, machine)) };
}

/** Writes what the store needs before the first request: a valid key, and the models. */
export async function prepareStore(
  { bootstrapKeyFile, modelsFile }: { readonly bootstrapKeyFile: string | null; readonly modelsFile: string | null },
  context: OperationContext,
): Promise<Failed | null> {
  if (bootstrapKeyFile !== null) {
    const problem = await bootstrapKey(bootstrapKeyFile, context.store, context.newId, context.machine);
    if (problem !== null) return { state: "failed", problem };
  }
  if (modelsFile === null) return null;
  const findings = await applyModels(modelsFile, context);
  return findings === null ? null : { state: "failed", problem: modelsRefused(modelsFile), findings, isInvalid: true };
}
