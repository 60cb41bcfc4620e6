/** What a thread of the store runs (worker.ts). In the bundle, which lies elsewhere, scripts/build.ts puts another path here. */
export const SQLITE_WORKER = new URL("./worker.ts", import.meta.url);
