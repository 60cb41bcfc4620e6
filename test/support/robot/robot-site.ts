/** Setup of the robot lifecycle tests: a site with a service, and robots at several stages of their life. */
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
  /** The package of this checkout, and one to upgrade to. The disks of all computers contain both. */
  readonly deb: DebianPackage;
  readonly newer: DebianPackage;
  /** A powered-off computer with only the operating system. */
  bare(options?: RobotOptions): Promise<RobotComputer>;
  /**
   * The same with the package installed, provisioned and registered, then shut down properly. All are the same robot: run one at a time.
   */
  registered(options?: RobotOptions): Promise<RobotComputer>;
}

export interface RobotOptions {
  readonly disk?: DiskKind;
  /** Hostname. Copies of a robot share one, unless a test tells them apart by it. */
  readonly hostname?: string;
}

const HOSTNAME = "arm-7";
/** Removes the start delays of the unit, which take a fifth of each start. provision.test.ts tests them. */
const DROP_IN = `/usr/local/lib/systemd/system/${UNIT}.d/quick.conf`;

const opened = new Map<DebianRelease, Promise<RobotSite>>();

/**
 * One site for all test files of a worker, because it takes several seconds to create. It ends with the worker. Tests share its service, so
 * they look only at what they created there.
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
  // Not the first boot, in which systemd enables every unit.
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
