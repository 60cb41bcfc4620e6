import { useState } from "preact/hooks";
import type * as z from "zod";

import type { apiKeyRotatedSchema, ApiKeyView } from "../../../api/keys.ts";
import { entered, type FieldSpec } from "../parts/form/fields.tsx";
import { FormDialog } from "../parts/form/form-dialog.tsx";
import { ShownOnce } from "../parts/form/shown-once.tsx";
import { absoluteTime } from "../parts/relative-time.tsx";
import { labelOf } from "./rows.tsx";

type Rotated = z.output<typeof apiKeyRotatedSchema>;

const FIELDS: readonly FieldSpec[] = [
  {
    name: "overlap_s",
    label: "The former key works",
    kind: "select",
    options: [
      { value: "0", word: "no longer" },
      { value: "3600", word: "for an hour" },
      { value: "86400", word: "for a day" },
      { value: "604800", word: "for a week" },
    ],
  },
];

/** Replaces a key by a new one, and shows that once. */
export function RotateKey({ apiKey: key, close }: { readonly apiKey: ApiKeyView; close(): void }) {
  const [rotated, setRotated] = useState<Rotated | null>(null);
  if (rotated !== null) {
    return (
      <ShownOnce title={`The key ${labelOf(rotated)}`} text={rotated.api_key} what="key" close={close}>
        <p>
          Copy it to where it will be used. It is shown only once. The former key works until{" "}
          {absoluteTime(rotated.former_expires_at)}.
        </p>
      </ShownOnce>
    );
  }
  return (
    <FormDialog<Rotated>
      title={`Rotate ${labelOf(key)}?`}
      verb="Rotate key"
      initial={{ overlap_s: "86400" }}
      fields={() => FIELDS}
      requestOf={(data) => ({
        method: "POST",
        path: `/v1/me/api-keys/${encodeURIComponent(key.id)}/rotate`,
        body: { overlap_s: Number(entered(data, "overlap_s")) },
      })}
      topics={["keys"]}
      done={setRotated}
      close={close}
    >
      <p>
        A new key with the same scopes takes its place: the keys and logins that were made with it depend on the new one
        from then on. A key that leaked is revoked instead.
      </p>
    </FormDialog>
  );
}
