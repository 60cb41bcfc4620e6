import type { Reader } from "../kernel/store/store.ts";

/** The regions of all robots of all organizations, for the service's own command line. */
export async function robotRegions(reader: Reader): Promise<readonly string[]> {
  const rows = await reader
    .selectFrom("robots")
    .select("region")
    .distinct()
    .where("removed_at", "is", null)
    .orderBy("region")
    .execute();
  return rows.map(({ region }) => region);
}
