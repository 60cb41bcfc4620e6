/** What the tests of the robot's lifecycle start from: a site with a service, and robots that came to different points of their life. */
import type { DiskKind } from "../nspawn/disk.ts";
import { type DebianPackage, debianPackage, NEWER_VERSION } from "../nspawn/package.ts";
import {
  CONFIGURATION_FILE,
  createRobotComputer,
  installPackage,
  provision,
  type RobotComputer,
  UNIT,
} from "../nspawn/robot.ts";
import { type DebianRelease, debianRoot } from "../nspawn/root.ts";
import { type SiteService, startSiteService } from "../nspawn/service.ts";
import { openSite, type Site } from "../nspawn/site.ts";
import { SETTLE_MS } from "./robot.ts";

export interface RobotSite {
  readonly site: Site;
  readonly service: SiteService;
  /** The package of this checkout, and one to upgrade to. All computers have both on their disk. */
  readonly deb: DebianPackage;
  readonly newer: DebianPackage;
  /** A computer, off, on which the system was installed and no more. */
  bare(options?: RobotOptions): Promise<RobotComputer>;
  /** And the package; provisioned, registered, and switched off in good order. Each is the same robot: one at a time. */
  registered(options?: RobotOptions): Promise<RobotComputer>;
}

export interface RobotOptions {
  readonly disk?: DiskKind;
  /** The same robot gives copies the same name; where the name is told apart, so are they. */
  readonly hostname?: string;
}

const HOSTNAME = "arm-7";
/** Starts again without the delays as shipped, which provision.test.ts tests: they take a fifth of what a start costs. */
const DROP_IN = `/usr/local/lib/systemd/system/${UNIT}.d/quick.conf`;

const opened = new Map<DebianRelease, Promise<RobotSite>>();

/**
 * One for all test files of a worker: it costs several seconds. It ends with the worker's process. Tests share its service, so they look
 * only for what they brought there.
 */
export function sharedRobotSite(release: DebianRelease): Promise<RobotSite> {
  const site = opened.get(release) ?? openRobotSite(release);
  opened.set(release, site);
  return site;
}

async function openRobotSite(release: DebianRelease): Promise<RobotSite> {
  const [root, deb, newer] = [await debianRoot(release), await debianPackage(), await debianPackage(NEWER_VERSION)];
  const system = [root, deb.layer, newer.layer];
  const site = await openSite();
  const service = await startSiteService(site);
  const from = (layers: readonly string[], { hostname = HOSTNAME, ...options }: RobotOptions = {}) =>
    createRobotComputer(site, { layers, hostname, ...options });

  const first = await from(system);
  // Not its first boot any more, in which systemd enables every unit.
  await first.image.run("systemd-machine-id-setup");
  await installPackage(first.image, deb);
  await provision(first.image, service);
  await first.image.run(`echo 'watch: { settle_ms: ${SETTLE_MS} }' >>${CONFIGURATION_FILE}`);
  await first.image.write(DROP_IN, "[Service]\nRestartSec=100ms\nExecStartPre=\n");
  await first.boot();
  await first.until(({ state }) => state === "registered");
  await first.run(`systemctl is-active ${UNIT}`);
  await first.shutdown();
  const registered = [first.layer(), ...system];

  return {
    site,
    service,
    deb,
    newer,
    bare: (options) => from(system, options),
    registered: (options) => from(registered, options),
  };
}
