/** Makes the packages like scripts/package, but without Node. Usage: small-packages.ts OUT ARCHITECTURE… */
import { PACKAGES } from "../../../scripts/packaging/contents.ts";
import { makePackages } from "../../../scripts/packaging/make.ts";
import { isArchitecture } from "../../../scripts/packaging/node.ts";
import { smallNode } from "./small-node.ts";

const [out = "", ...architectures] = process.argv.slice(2);
const names = PACKAGES.map(({ name }) => name);

await makePackages({ names, architectures: architectures.filter(isArchitecture), out, isFast: true }, smallNode);
