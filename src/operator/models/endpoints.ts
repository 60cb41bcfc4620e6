import { beyondSpec } from "../../api/api.ts";
import type { EndpointView } from "../../api/endpoints.ts";
import type { ModelView } from "../../api/models.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { DOCUMENT_REMEDY, noteHidden } from "../lists/show-list.ts";
import { listIfOffered, type Service } from "../service.ts";
import { type Now, timeAgo } from "../times.ts";

/** The status of all endpoints in the catalog; null where the service does not show it. */
export function loadEndpoints(service: Service): Promise<CallResult<readonly EndpointView[] | null>> {
  return listIfOffered(service, beyondSpec.listEndpoints, ({ items }) => items);
}

/** `healthy`, `1/3 healthy`: endpoints of all checkpoints of a model; empty where their status is not known. */
export function healthText(
  { slug }: Pick<ModelView, "slug">,
  endpoints: readonly EndpointView[] | null,
  terminal: Terminal,
): string {
  if (endpoints === null) return "";
  const own = endpoints.filter(({ model_slug: modelSlug }) => modelSlug === slug);
  if (own.length === 0) return terminal.style("bad", "no endpoint");
  const healthy = own.filter(({ status }) => status === "healthy").length;
  if (healthy === own.length) return terminal.style("good", "healthy");
  if (healthy > 0) return terminal.style("warn", `${healthy}/${own.length} healthy`);
  return own.some(({ status }) => status === "unhealthy")
    ? terminal.style("bad", "unhealthy")
    : terminal.style("warn", "unknown");
}

type ShownEndpoint = Pick<EndpointView, "region" | "status" | "since" | "checked_at" | "detail"> & {
  /** The model, in a table with endpoints of several models. */
  readonly of?: string;
};

/** Shows endpoints with their health, since when, and the last failure. */
export function showEndpoints(endpoints: readonly ShownEndpoint[], terminal: Terminal, now: Now): void {
  const hidden = terminal.table(
    ["endpoint", "for", "health", "since", "checked", "last failure"],
    endpoints.map(({ region, of, status, since, checked_at: checkedAt, detail }) => [
      region,
      of ?? "",
      terminal.style(status === "healthy" ? "good" : status === "unhealthy" ? "bad" : "warn", status),
      timeAgo(since, now),
      timeAgo(checkedAt, now),
      detail ?? "",
    ]),
    ["last failure", "for"],
    ["checked"],
  );
  noteHidden(hidden, DOCUMENT_REMEDY, terminal);
}
