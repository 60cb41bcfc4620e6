import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { eventually } from "../eventually.ts";
import { hasProgram } from "../programs/programs.ts";
import { freePort } from "./free-port.ts";
import { newFolder, serverUser } from "./postgres.ts";

/** Whether tests with PgBouncer are skipped because it is missing. In CI they fail instead. Debian: `apt-get install pgbouncer`. */
export const WITHOUT_PGBOUNCER = !hasProgram("pgbouncer") && (process.env["CI"] ?? "") === "";

/** A pooler in front of a database. */
export interface Pgbouncer extends AsyncDisposable {
  /** The database of the pooler. */
  readonly url: string;
}

/** Starts PgBouncer in front of the database of `url`, with few connections for many clients. */
export async function startPgbouncer(url: string, settings: readonly string[]): Promise<Pgbouncer> {
  const user = serverUser();
  const folder = await newFolder(tmpdir(), user);
  const port = await freePort();
  const { username, password, hostname, port: serverPort, pathname } = new URL(url);
  const file = join(folder, "pgbouncer.ini");
  const lines = [
    "[databases]",
    `robots = host=${hostname} port=${serverPort} dbname=${pathname.slice(1)} user=${username} password=${password}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    "default_pool_size = 3",
    ...settings,
  ];
  await writeFile(file, lines.join("\n"));
  const pooler = spawn("pgbouncer", ["--quiet", file], { ...user, cwd: folder, stdio: "ignore" });
  const exited = once(pooler, "exit");
  const accepts = async () => {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => undefined,
    );
    socket.destroy();
    return isOpen;
  };
  await eventually(accepts, "connections to PgBouncer");
  return {
    url: `postgres://robots@127.0.0.1:${port}/robots`,
    async [Symbol.asyncDispose]() {
      pooler.kill("SIGKILL");
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
