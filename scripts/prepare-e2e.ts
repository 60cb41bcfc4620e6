/** Creates what test/e2e needs and keeps: root file systems and packages. */
import { debianPackage, NEWER_VERSION } from "../test/support/nspawn/package.ts";
import { debianRoot, RELEASES } from "../test/support/nspawn/root.ts";
import { findSiteObstacle } from "../test/support/nspawn/site.ts";

if (findSiteObstacle() === null) await Promise.all([...RELEASES.map(debianRoot), debianPackage(NEWER_VERSION)]);
