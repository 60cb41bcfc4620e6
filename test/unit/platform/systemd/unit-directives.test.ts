/**
 * The units on systemd of 247 and newer. Ubuntu 22.04, as on Jetsons, has 249, of which Debian has no package: the machines of the tests boot
 * 247 and 252, and a directive that 247 takes is in each version between.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

const FOLDER = join(import.meta.dirname, "../../../../systemd");

/** The version of systemd whose NEWS have it; 230 for all that are as old or older. */
const SINCE: Readonly<Record<number, string>> = {
  230:
    "After AmbientCapabilities AccuracySec CapabilityBoundingSet ConditionPathExists Conflicts Description DevicePolicy Documentation " +
    "Environment ExecReload ExecStart ExecStartPre Group IOSchedulingClass IOSchedulingPriority KillMode LimitCORE LimitNOFILE Nice " +
    "NoNewPrivileges NotifyAccess OnActiveSec OnCalendar OnUnitActiveSec OOMScoreAdjust Persistent PrivateDevices PrivateNetwork PrivateTmp ProtectHome ProtectSystem Restart " +
    "RandomizedDelaySec RestartPreventExitStatus RestartSec RestrictAddressFamilies RuntimeDirectory RuntimeDirectoryMode RuntimeMaxSec StartLimitBurst " +
    "StartLimitIntervalSec SuccessExitStatus SystemCallArchitectures SystemCallErrorNumber SystemCallFilter TasksMax TimeoutStartSec " +
    "TimeoutStopSec Type UMask Unit User WantedBy Wants WatchdogSec",
  231: "InaccessiblePaths MemoryHigh MemoryMax RestrictRealtime",
  232: "ProtectControlGroups ProtectKernelModules ProtectKernelTunables RemoveIPC ProtectSystem=strict",
  233: "RestrictNamespaces",
  235:
    "CacheDirectory CacheDirectoryMode ConfigurationDirectory KeyringMode LockPersonality RuntimeDirectoryPreserve StateDirectory " +
    "StateDirectoryMode",
  236: "LogLevelMax",
  239: "PrivateMounts",
  240: "Type=exec",
  242: "ProtectHostname RestrictSUIDSGID",
  244: "ProtectKernelLogs",
  245: "ProtectClock",
  247: "LoadCredential ProcSubset ProtectProc",
  // Drop-ins, which postinst and the page of the units give to these versions alone.
  250: "LoadCredentialEncrypted",
  254: "ImportCredential RestartMaxDelaySec RestartSteps",
};
/** For the newer ones, where they may stand. */
const OF_DROP_INS = new Set(["credential-store.conf", "growing-delay.conf", "sealed-key.conf"]);

const versions = new Map(
  Object.entries(SINCE).flatMap(([version, names]) => names.split(" ").map((name) => [name, Number(version)] as const)),
);
const files = readdirSync(FOLDER).filter((name) => /\.(?:service|timer|conf)$/.test(name));

test.each(files)("%s: each directive is in systemd 247, or in a drop-in for newer ones", (name) => {
  const directives = [...readFileSync(join(FOLDER, name), "utf8").matchAll(/^([A-Z]\w+)=.*$/gm)];
  const newest = OF_DROP_INS.has(name) ? 254 : 247;
  const newer = directives.filter(([line, directive = ""]) => {
    const since = versions.get(line) ?? versions.get(directive);
    return since === undefined || since > newest;
  });
  expect(directives.length).toBeGreaterThan(0);
  expect(newer.map(([line]) => line)).toEqual([]);
});
