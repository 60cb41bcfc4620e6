import { useMemo } from "preact/hooks";
import type * as z from "zod";

import type { allowedKeyListSchema, AllowedKeyView } from "../../../../api/allowed-keys.ts";
import type { AllowedKeyState } from "../../../../api/words/allowed-keys.ts";
import { allowedKeyState } from "../../../../api/words/allowed-keys.ts";
import type { Data } from "../../data/use-data.ts";
import { useData } from "../../data/use-data.ts";
import { useNow } from "../../parts/relative-time.tsx";

export interface AllowedKeyRow {
  readonly entry: AllowedKeyView;
  readonly state: AllowedKeyState;
}

interface AllowedKeys {
  readonly data: Data<z.output<typeof allowedKeyListSchema>>;
  readonly rows: readonly AllowedKeyRow[];
}

/** The keys whose computers may enrol, or did. */
export function useAllowedKeys(): AllowedKeys {
  const data = useData<z.output<typeof allowedKeyListSchema>>("/v1/robot-allowed-keys", ["enrolments"]);
  const nowMs = useNow();
  const items = data.state === "ready" ? data.value.items : undefined;
  // The rows change only when a key expires, not at each tick of the clock.
  const states = items?.map((entry) => allowedKeyState(entry, nowMs)).join(" ");
  const rows = useMemo(
    () => (items ?? []).map((entry) => ({ entry, state: allowedKeyState(entry, nowMs) })),
    [items, states],
  );
  return { data, rows };
}
