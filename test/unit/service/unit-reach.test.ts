import { expect, test } from "vitest";

import { beyondReachOfUnit, type FoundFiles } from "../../../src/service/commands/serve/unit-reach.ts";
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
  ["data in a folder of a similar name", { store: sqlite(`${STATE}-2`) }, [`${STATE}-2`]],
  ["data by ..", { store: sqlite(`${STATE}/../other`) }, [`${STATE}/../other`]],
  ["a key file outside", { store: sqlite(STATE), bootstrapKeyFile: `${ETC}/key` }, [`${ETC}/key`]],
  ["a key outside", { store: sqlite(STATE), bootstrapKeyFile: `${ETC}/key` }, [], { hasKey: true }],
  ["a key in a home", { store: sqlite(STATE), bootstrapKeyFile: "/root/key" }, ["/root/key"], { hasKey: true }],
  ["a database's URL", { store: postgres }, [], { urlFile: `${ETC}/url` }],
  ["a database's URL in a home", { store: postgres }, ["/root/url"], { urlFile: "/root/url" }],
  ["a certificate's key in a home", { store: sqlite(STATE), tls: tls("/home/ada/key.pem") }, ["/home/ada/key.pem"]],
  ["models in /tmp", { store: sqlite(STATE), modelsFile: "/tmp/models.yaml" }, ["/tmp/models.yaml"]],
])("beyondReachOfUnit: %s", (_what, configuration, paths, found = {}) => {
  const problems = beyondReachOfUnit({ listen, ...configuration }, { hasKey: false, urlFile: null, ...found });
  expect(problems.map((text) => paths.filter((path) => text.includes(path)))).toEqual(paths.map((path) => [path]));
});
