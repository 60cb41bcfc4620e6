import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certified {
  readonly key: string;
  readonly cert: string;
}

export interface Authority extends Disposable {
  readonly directory: string;
  /** PEM file of the authority's certificate. */
  readonly ca_file: string;
  issue(host: string, validity?: Validity): Certified;
}

/** "ending": for three more days. */
export type Validity = "now" | "past" | "future" | "ending";

const PERIODS: Record<Validity, readonly [string, string]> = {
  now: ["20200101000000Z", "20990101000000Z"],
  past: ["20200101000000Z", "20200201000000Z"],
  future: ["20980101000000Z", "20990101000000Z"],
  ending: ["20200101000000Z", asn1Time(Date.now() + 3 * 86_400_000)],
};

/** `20260131000000Z` */
function asn1Time(atMs: number): string {
  return new Date(atMs).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
}

const CONFIGURATION = `
[ca]
default_ca = test
[test]
database = index.txt
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
`;

/** A private certificate authority in a temporary folder, using openssl(1). */
export function createAuthority(): Authority {
  const directory = mkdtempSync(join(tmpdir(), "authority-"));
  const openssl = (...args: string[]) => {
    execFileSync("openssl", args, { cwd: directory, stdio: "pipe" });
  };
  const file = (name: string) => join(directory, name);
  const text = (name: string) => readFileSync(file(name), "utf8");

  writeFileSync(file("openssl.cnf"), CONFIGURATION);
  writeFileSync(file("index.txt"), "");
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-config", "openssl.cnf"];
  const subject = ["-days", "3650", "-subj", "/CN=Test Authority"];
  const extensions = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"];
  openssl("req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", ...subject, ...extensions);
  openssl("req", ...key, "-keyout", "leaf.key", "-out", "leaf.csr", "-subj", "/CN=leaf");

  return {
    directory,
    ca_file: file("ca.pem"),
    issue(host, validity = "now") {
      const [from, to] = PERIODS[validity];
      const name = /^[\d.]+$/.test(host) ? `IP:${host}` : `DNS:${host}`;
      writeFileSync(file("leaf.ext"), `subjectAltName=${name}\nbasicConstraints=CA:FALSE\n`);
      const signer = ["-config", "openssl.cnf", "-cert", "ca.pem", "-keyfile", "ca.key"];
      const period = ["-startdate", from, "-enddate", to];
      openssl(
        "ca",
        "-batch",
        "-notext",
        ...signer,
        "-in",
        "leaf.csr",
        "-out",
        "leaf.pem",
        "-extfile",
        "leaf.ext",
        ...period,
      );
      return { key: text("leaf.key"), cert: text("leaf.pem") };
    },
    [Symbol.dispose]() {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
