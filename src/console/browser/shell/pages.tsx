import { type ComponentChildren, type FunctionComponent, h } from "preact";

import type { Section } from "../../sections.ts";
import { Audit } from "../audit/audit.tsx";
import { Deployments } from "../deployments/deployments.tsx";
import { Enrolment } from "../enrolments/enrolment.tsx";
import { Enrolments } from "../enrolments/enrolments.tsx";
import { FleetDifferences } from "../fleets/differences.tsx";
import { Fleet } from "../fleets/fleet.tsx";
import { Fleets } from "../fleets/fleets.tsx";
import { Keys } from "../keys/keys.tsx";
import { Model, Models } from "../models/models.tsx";
import { Page } from "../parts/page.tsx";
import { RobotDifferences } from "../robots/differences.tsx";
import { Robot } from "../robots/robot.tsx";
import { Robots } from "../robots/robots.tsx";
import type { PageParameters } from "../router.ts";
import { Usage } from "../usage/usage.tsx";
import { Webhooks } from "../webhooks/webhooks.tsx";
import { Overview } from "./overview.tsx";

type PageComponent = FunctionComponent<PageParameters>;

/** The pages of the console by path; the page receives the value of `:name`. Each section has at least one. */
const PAGES: Readonly<
  Record<"/" | "/account/robot" | `/${Section}`, PageComponent> & Record<`/${Section}/${string}`, PageComponent>
> = {
  "/": Overview,
  // Existing clients send the operator who approves a robot computer to this path.
  "/account/robot": Enrolments,
  "/enrolments": Enrolments,
  "/enrolments/:name": Enrolment,
  "/robots": Robots,
  "/robots/:name": Robot,
  "/robots/:name/differences": RobotDifferences,
  "/fleets": Fleets,
  "/fleets/:name": Fleet,
  "/fleets/:name/differences": FleetDifferences,
  "/models": Models,
  "/models/:name": Model,
  "/deployments": Deployments,
  "/keys": Keys,
  "/webhooks": Webhooks,
  "/usage": Usage,
  "/audit": Audit,
};

export function pageAt(path: string): ComponentChildren {
  const [, section = "", name = "", ...below] = path.replace(/(?<=.)\/$/, "").split("/");
  const exact = PAGE_AT.get(name === "" ? `/${section}` : `/${section}/${name}`);
  if (exact !== undefined && below.length === 0) return h(exact, { name: "" });
  const one = PAGE_AT.get(["", section, ":name", ...below].join("/"));
  const decoded = decode(name);
  if (one === undefined || decoded === "") return <NoSuchPage path={path} />;
  return h(one, { name: decoded });
}

const PAGE_AT: ReadonlyMap<string, PageComponent> = new Map(Object.entries(PAGES));

/** "" for what is no percent-encoding. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

function NoSuchPage({ path }: { readonly path: string }) {
  return (
    <Page title="No such page">
      <p>
        The console has no page at <code>{path}</code>. <a href="/">Go to the overview</a>
      </p>
    </Page>
  );
}
