/** What the tests of the robot's lifecycle start from: a site with a service, and robots that came to different points of their life. */
import type { DiskKind } from "./nspawn-disk.ts";
import { createRobotComputer, installPackage, provision, UNIT } from "./nspawn-robot.ts";
import type { RobotComputer } from "./nspawn-robot.ts";
import { debianPackage } from "./nspawn-package.ts";
import type { DebianRelease } from "./nspawn-root.ts";
import { debianRoot } from "./nspawn-root.ts";
import type { SiteService } from "./nspawn-service.ts";
import { startSiteService } from "./nspawn-service.ts";
import type { Site } from "./nspawn-site.ts";
import { openSite } from "./nspawn-site.ts";

export interface RobotSite extends AsyncDisposable {
  readonly site: Site;
  readonly service: SiteService;
  /** The package of this checkout. */
  readonly deb: string;
  /** A computer, off, on which the system was installed and no more. */
  bare(options?: RobotOptions): Promise<RobotComputer>;
  /** And the package. */
  installed(options?: RobotOptions): Promise<RobotComputer>;
  /** And provisioned, registered, and switched off in good order. Each is the same robot: one at a time. */
  registered(options?: RobotOptions): Promise<RobotComputer>;
}

export interface RobotOptions {
  readonly disk?: DiskKind;
  /** The same robot gives copies the same name; where the name is told apart, so are they. */
  readonly hostname?: string;
}

const HOSTNAME = "arm-7";

export async function openRobotSite(release: DebianRelease): Promise<RobotSite> {
  await using resources = new AsyncDisposableStack();
  const [root, deb] = [await debianRoot(release), await debianPackage()];
  const site = resources.use(await openSite());
  const service = resources.use(await startSiteService(site));
  const from = (layers: readonly string[], { hostname = HOSTNAME, ...options }: RobotOptions = {}) =>
    createRobotComputer(site, { layers, hostname, ...options });

  const first = resources.use(await from([root]));
  await first.boot();
  await installPackage(first, site, deb);
  await first.shutdown();
  const installed = [first.layer(), root];

  const second = resources.use(await from(installed));
  await second.boot();
  await provision(second, service);
  await second.run(`robot-policy-agent --setup; systemctl enable --now ${UNIT}`);
  await second.until(({ state }) => state === "registered");
  await second.shutdown();
  const registered = [second.layer(), ...installed];

  const owned = resources.move();
  return {
    site,
    service,
    deb,
    bare: (options) => from([root], options),
    installed: (options) => from(installed, options),
    registered: (options) => from(registered, options),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
