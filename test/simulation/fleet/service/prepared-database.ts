import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemFiles } from "../../../../src/platform/files/files.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { createLog } from "../../../../src/service/kernel/log.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import { SQLITE_FILE } from "../../../../src/service/kernel/store/sqlite/store.ts";
import { addKey, makeKey } from "../../../../src/service/keys/keys.ts";
import { applyCatalogFile } from "../../../../src/service/models/apply.ts";
import { readCatalog } from "../../../../src/service/models/catalog.ts";
import { insertOrganization } from "../../../../src/service/organizations/organizations.ts";
import { createDice } from "../../dice.ts";
import { BEGINNING_MS } from "../../machine/wall-clock.ts";

/** Initial data of the service: organizations with one key of all scopes each, and a catalog. */
export interface PreparedDatabase {
  readonly bytes: Uint8Array;
  readonly organizations: readonly Organization[];
}

export interface Organization {
  readonly id: string;
  /** Exclusive prefix of its robots' names. */
  readonly mark: string;
  readonly key: string;
}

export const MODELS = ["pick", "place"] as const;
export const REGION = "eu-central-1";
export const MARKS: readonly string[] = ["alpha", "beta"];

const CATALOG = `models:
${MODELS.map(
  (slug) => `  - slug: ${slug}
    display_name: ${slug}
    default_checkpoint: ckpt_${slug}
    checkpoints:
      - id: ckpt_${slug}
        created_at: 2026-03-08
        endpoints: [{ region: ${REGION}, url: "https://${slug}.example/" }]
`,
).join("")}`;

let prepared: Promise<PreparedDatabase> | null = null;

/** Created once per process, and identical in every process. */
export function preparedDatabase(): Promise<PreparedDatabase> {
  prepared ??= prepare();
  return prepared;
}

async function prepare(): Promise<PreparedDatabase> {
  const folder = await mkdtemp(join(tmpdir(), "simulation-"));
  const { unit } = createDice(1);
  const random = { unit, bytes: (count: number) => Uint8Array.from({ length: count }, () => unit() * 256) };
  const atMs = BEGINNING_MS - 86_400_000;
  const clock = { wallMs: () => atMs, monotonicMs: () => 0, sleep: () => Promise.resolve() };
  const machine = { clock, random, files: systemFiles, log: createLog("silent", { write() {} }) };
  const newId = createIds(clock, random);
  const createdAt = new Date(atMs).toISOString();
  try {
    const organizations: Organization[] = [];
    {
      await using store = await openStore({ kind: "sqlite", dataDirectory: folder }, machine);
      for (const mark of MARKS) {
        const id = newId("org");
        const author = {
          auditId: newId("aud"),
          at: createdAt,
          organizationId: id,
          actor: "command",
          requestId: null,
        };
        const wish = { organization_id: id, label: mark, scopes: null, expires_at: null };
        const { key, row } = makeKey(wish, newId("key"), createdAt, random);
        await store.write(async (transaction) => {
          await insertOrganization(transaction, { id, name: mark, created_at: createdAt });
          await addKey(transaction, row, author);
        });
        organizations.push({ id, mark, key });
      }
      const bytes = new TextEncoder().encode(CATALOG);
      const { value: catalog, findings, locate } = readCatalog(bytes);
      if (catalog === null) throw new Error(`The catalog is wrong: ${JSON.stringify(findings)}`);
      const applied = await applyCatalogFile(
        { store, newId, machine },
        { bytes, catalog, contracts: new Map(), locate },
      );
      if (applied.state === "refused") throw new Error("The catalog was refused");
    }
    return { bytes: await readFile(join(folder, SQLITE_FILE)), organizations };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
