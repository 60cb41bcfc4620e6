/** What a thread of the store runs (sqlite-worker.ts). In the bundle, which lies elsewhere, scripts/build.ts puts another path here. */
export const SQLITE_WORKER = new URL("./sqlite-worker.ts", import.meta.url);
