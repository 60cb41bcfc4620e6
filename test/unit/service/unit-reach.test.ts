import { expect, test } from "vitest";

import { beyondReachOfUnit } from "../../../src/service/commands/serve/unit-reach.ts";

const STATE = "/var/lib/robot-policy-service";
const ETC = "/etc/robot-policy-service";
const listen = { host: "127.0.0.1", port: 8080 };
const sqlite = (dataDirectory: string) => ({ kind: "sqlite", dataDirectory }) as const;
const tls = (keyFile: string) => ({ certFile: `${ETC}/cert.pem`, keyFile });

test.each([
  [
    "all paths within reach",
    { store: sqlite(STATE), bootstrapKeyFile: `${STATE}/key`, tls: tls(`${ETC}/key.pem`) },
    [],
  ],
  ["data elsewhere", { store: sqlite("/srv/robots") }, ["/srv/robots"]],
  ["data in a folder of a similar name", { store: sqlite(`${STATE}-2`) }, [`${STATE}-2`]],
  ["data by ..", { store: sqlite(`${STATE}/../other`) }, [`${STATE}/../other`]],
  ["a key file outside", { store: sqlite(STATE), bootstrapKeyFile: `${ETC}/key` }, [`${ETC}/key`]],
  ["a certificate's key in a home", { store: sqlite(STATE), tls: tls("/home/ada/key.pem") }, ["/home/ada/key.pem"]],
  ["models in /tmp", { store: sqlite(STATE), modelsFile: "/tmp/models.yaml" }, ["/tmp/models.yaml"]],
])("beyondReachOfUnit: %s", (_what, configuration, paths) => {
  const problems = beyondReachOfUnit({ listen, ...configuration });
  expect(problems.map((text) => paths.filter((path) => text.includes(path)))).toEqual(paths.map((path) => [path]));
});
