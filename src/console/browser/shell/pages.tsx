import type { ComponentChildren, FunctionComponent } from "preact";

import { Audit } from "../audit/audit.tsx";
import { Deployment } from "../deployments/deployment.tsx";
import { Deployments } from "../deployments/deployments.tsx";
import { Fleet } from "../fleets/fleet.tsx";
import { Fleets } from "../fleets/fleets.tsx";
import { NewFleet } from "../fleets/new.tsx";
import { Keys } from "../keys/keys.tsx";
import { Model } from "../models/model.tsx";
import { Models } from "../models/models.tsx";
import type { IconName } from "../parts/icon.tsx";
import { Page } from "../parts/page.tsx";
import { Robot } from "../robots/robot.tsx";
import { Robots } from "../robots/robots.tsx";
import { matchPath } from "../router.ts";
import type { PageParameters } from "../router.ts";
import { Usage } from "../usage/usage.tsx";
import { Overview } from "./overview.tsx";

/** The pages of the console by path. The page receives the value of `:name`. */
const PAGES: readonly (readonly [pattern: string, page: FunctionComponent<PageParameters>])[] = [
  ["/", Overview],
  ["/robots", Robots],
  ["/robots/:name", Robot],
  ["/fleets", Fleets],
  ["/fleets/new", NewFleet],
  ["/fleets/:name", Fleet],
  ["/models", Models],
  ["/models/:name", Model],
  ["/deployments", Deployments],
  ["/deployments/:name", Deployment],
  ["/keys", Keys],
  ["/usage", Usage],
  ["/audit", Audit],
];

export interface NavigationEntry {
  readonly path: string;
  readonly word: string;
  readonly icon: IconName;
}

/** Most used first: a phone shows only the first four. */
export const NAVIGATION: readonly NavigationEntry[] = [
  { path: "/", word: "Overview", icon: "overview" },
  { path: "/robots", word: "Robots", icon: "robots" },
  { path: "/fleets", word: "Fleets", icon: "fleets" },
  { path: "/deployments", word: "Deployments", icon: "deployments" },
  { path: "/models", word: "Models", icon: "models" },
  { path: "/keys", word: "Keys", icon: "keys" },
  { path: "/usage", word: "Usage", icon: "usage" },
  { path: "/audit", word: "Audit", icon: "audit" },
];

export function pageAt(path: string): ComponentChildren {
  for (const [pattern, PageOf] of PAGES) {
    const parameters = matchPath(pattern, path);
    if (parameters !== null) return <PageOf name={parameters["name"] ?? ""} />;
  }
  return <NoSuchPage path={path} />;
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
