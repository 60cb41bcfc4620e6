import { expect, test } from "vitest";

import { startProblem } from "../../../src/service/preparation.ts";

const store = { kind: "sqlite", dataDirectory: "/var/lib/robot-policy-service" } as const;
const failed = (syscall: string, code: string) => Object.assign(new Error(code), { syscall, code });

test.each([
  ["listen", "EACCES", 443, /CAP_NET_BIND_SERVICE/, /AmbientCapabilities=.*port from 1024 on/],
  ["uv_interface_addresses", "ERR_SYSTEM_ERROR", 8080, /ERR_SYSTEM_ERROR/, /--listen HOST:PORT/],
  ["listen", "EADDRINUSE", 8080, /another program listens there/, /--listen HOST:PORT/],
  ["listen", "EADDRINUSE", 443, /another program listens there/, /--listen HOST:PORT/],
])("startProblem: %s → %s on port %i", (syscall, code, port, what, fix) => {
  const problem = startProblem(failed(syscall, code), { store, listen: { host: "0.0.0.0", port } });
  expect(problem).toMatchObject({ code: "cannot-listen", where: `0.0.0.0:${port}` });
  expect(problem?.what).toMatch(what);
  expect(problem?.fix).toMatch(fix);
});

test("startProblem: database connection fails → its own codes", () => {
  const problem = startProblem(failed("connect", "EADDRNOTAVAIL"), { store, listen: { host: "0.0.0.0", port: 80 } });
  expect(problem?.code).not.toBe("cannot-listen");
});
