import { expect, test } from "vitest";

import {
  beyondReachOfUnit,
  type FoundFiles,
  reachOfThisUnit,
  SHIPPED_UNIT,
} from "../../../src/service/commands/serve/unit-reach.ts";
import { storeProblem } from "../../../src/service/kernel/store/store-problem.ts";
import type { ServiceConfiguration } from "../../../src/service/service.ts";

const STATE = "/var/lib/robot-policy-service";
const ETC = "/etc/robot-policy-service";
const listen = { host: "127.0.0.1", port: 8080 };
const sqlite = (dataDirectory: string) => ({ kind: "sqlite", dataDirectory }) as const;
const postgres = { kind: "postgres", url: "postgres://h/d" } as const;
const tls = (keyFile: string) => ({ certFile: `${ETC}/cert.pem`, keyFile });

test.each<[string, Omit<ServiceConfiguration, "listen">, readonly string[], Partial<FoundFiles>?]>([
  [
    "all paths within reach",
    { store: sqlite(STATE), bootstrapKeyFile: `${STATE}/key`, tls: tls(`${ETC}/key.pem`) },
    [],
  ],
  ["data elsewhere", { store: sqlite("/srv/robots") }, ["/srv/robots"]],
  ["data and key there", { store: sqlite("/srv/robots"), bootstrapKeyFile: "/srv/robots/key" }, ["/srv/robots"]],
  ["data in a folder of a similar name", { store: sqlite(`${STATE}-2`) }, [`${STATE}-2`]],
  ["data by ..", { store: sqlite(`${STATE}/../other`) }, [`${STATE}/../other`]],
  ["data in /tmp", { store: sqlite("/tmp/data") }, ["/tmp/data"]],
  ["a key file outside", { store: sqlite(STATE), bootstrapKeyFile: `${ETC}/key` }, [ETC]],
  ["a key outside", { store: sqlite(STATE), bootstrapKeyFile: `${ETC}/key` }, [], { hasKey: true }],
  ["a key in a home", { store: sqlite(STATE), bootstrapKeyFile: "/root/key" }, ["/root/key"], { hasKey: true }],
  ["a database's URL", { store: postgres }, [], { urlFile: `${ETC}/url` }],
  ["a database's URL in a home", { store: postgres }, ["/root/url"], { urlFile: "/root/url" }],
  ["a certificate's key in a home", { store: sqlite(STATE), tls: tls("/home/ada/key.pem") }, ["/home/ada/key.pem"]],
  ["models in /tmp", { store: sqlite(STATE), modelsFile: "/tmp/models.yaml" }, ["/tmp/models.yaml"]],
])("beyondReachOfUnit: %s", (_what, configuration, paths, found = {}) => {
  const all = { hasKey: false, urlFile: null, ...found };
  const problems = beyondReachOfUnit({ listen, ...configuration }, all, SHIPPED_UNIT);
  expect(problems.map((text) => paths.filter((path) => text.includes(path)))).toEqual(paths.map((path) => [path]));
});

/** In the shipped unit with a drop-in ReadWritePaths=/srv/allowed. */
const TABLE = `366 300 8:1 / / ro,relatime - ext4 /dev/sda1 rw
380 366 8:1 /tmp/systemd-private-3b1f-robot-policy-service.service-Ab12/tmp /tmp rw - ext4 /dev/sda1 rw
385 366 8:1 /srv/allowed /srv/allowed rw,relatime - ext4 /dev/sda1 rw
386 366 7:0 / /srv/image ro - squashfs /dev/loop0 ro
`;

test("beyondReachOfUnit: within the unit → as its mounts are, drop-ins included", () => {
  const found = { hasKey: false, urlFile: "/tmp/url" };
  const told = (data: string) =>
    beyondReachOfUnit({ listen, store: sqlite(data), modelsFile: "/etc/m.yaml" }, found, reachOfThisUnit(TABLE));
  expect(told("/srv/allowed/data")).toHaveLength(1);
  expect(told("/srv/robots").join("\n")).toMatchInlineSnapshot(`
    "the unit lets the service only read there: /srv/robots; use a folder below /var/lib/robot-policy-service, or let the unit write to this one: systemctl edit robot-policy-service, then the lines [Service] and ReadWritePaths=/srv/robots
    the unit gives the service no access to home directories, and a /tmp of its own, so it cannot use /tmp/url; move it to /etc/robot-policy-service"
  `);
});

test.each([
  ["/srv/robots", "the unit lets the service only read there", "ReadWritePaths=/srv/robots"],
  ["/srv/allowed/data", "the disk is read-only", "make its disk writable"],
  ["/srv/image/data", "the disk is read-only", "make its disk writable"],
])("storeProblem: data in %s, which is read-only → %s", (data, what, fix) => {
  const error = Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
  expect(storeProblem(error, sqlite(data), TABLE)).toMatchObject({
    what: `the data directory cannot be used: ${what}`,
    where: data,
    fix: expect.stringContaining(fix),
  });
});
