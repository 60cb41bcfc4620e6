import type { Reader } from "../kernel/store/store.ts";

/** The regions that any robot of any organization is in: for whoever runs the service. */
export async function robotRegions(reader: Reader): Promise<readonly string[]> {
  const rows = await reader.selectFrom("robots").select("region").distinct().orderBy("region").execute();
  return rows.map(({ region }) => region);
}
