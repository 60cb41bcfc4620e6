/**
 * The lint rule `rooms/imports`: which folder of src may import which. It goes by the place of both files, so that a new folder is held to it
 * without being listed. src/README.md explains the rooms.
 */
import { dirname, join, relative } from "node:path";

/** Room → the rooms that it may import beside itself. Files at the top of src compose the programs, and may import everything. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  api: [],
  platform: [],
  access: ["api", "platform"],
  client: ["api", "platform"],
  documents: ["api", "platform"],
  differences: ["api", "platform"],
  cli: ["documents", "api", "platform"],
  hardware: ["platform"],
  look: ["hardware", "api", "platform"],
  manifest: ["documents", "hardware", "api", "platform"],
  agent: [
    "differences",
    "installer",
    "cli",
    "access",
    "client",
    "documents",
    "hardware",
    "look",
    "manifest",
    "api",
    "platform",
  ],
  installer: ["access", "client", "documents", "look", "manifest", "api", "platform"],
  views: ["api", "platform"],
  operator: ["cli", "access", "client", "documents", "look", "manifest", "views", "api", "platform"],
  service: ["differences", "cli", "client", "documents", "look", "manifest", "api", "platform"],
  console: ["views", "api", "platform"],
};

/** Folders of `service` that put it together, and may import all of its folders and mount the console. */
const COMPOSING: ReadonlySet<string> = new Set(["commands", "configuration", "openapi"]);

/** What the console's server may import of the service. */
const CONSOLE_DOOR = "service/console-door.ts";

/** Why `from` may not import `to`; null if it may. Both are paths below src. */
export function refusalOf(from: string, to: string): string | null {
  const [room = "", folder = "", ...inFolder] = from.split("/");
  const [toRoom = "", toFolder = "", ...inToFolder] = to.split("/");
  const allowed = ROOMS[room];
  const isComposed = inFolder.length === 0 || COMPOSING.has(folder);
  if (allowed === undefined) return folder === "" ? null : `${room} is no room of scripts/lint/rooms.ts`;
  // The version is in the manifest of the package, beside src.
  if (room === "cli" && to === "../package.json") return null;
  if (room !== toRoom) {
    if (allowed.includes(toRoom)) return null;
    if (from.startsWith("console/server/") && to === CONSOLE_DOOR) return null;
    if (room === "service" && isComposed && to.startsWith("console/server/")) return null;
    return `${room} imports only ${["itself", ...allowed].join(", ")}`;
  }
  if (room === "console" && folder === "browser" && toFolder === "server") return "the page does not import its server";
  if (room !== "service" || isComposed || folder === toFolder) return null;
  if (COMPOSING.has(toFolder) || inToFolder.length === 0) return "this belongs to what puts the service together";
  if (toFolder === "kernel") return null;
  if (folder === "kernel") return "the kernel imports no resource";
  return inToFolder.join("/") === "index.ts" ? null : "a resource uses of another what its index.ts lists";
}

interface ImportNode {
  readonly source: { readonly value: unknown } | null;
}

interface RuleContext {
  readonly filename: string;
  readonly cwd: string;
  report(finding: { readonly node: ImportNode; readonly message: string }): void;
}

const imports = {
  create(context: RuleContext) {
    const sources = join(context.cwd, "src");
    const from = relative(sources, context.filename);
    if (from.startsWith("..")) return {};
    const check = (node: ImportNode) => {
      const specifier = node.source?.value;
      if (typeof specifier !== "string" || !specifier.startsWith(".")) return;
      const message = refusalOf(from, relative(sources, join(dirname(context.filename), specifier)));
      if (message !== null) context.report({ node, message });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    };
  },
};

// oxlint takes a plugin from the default export.
export default { meta: { name: "rooms" }, rules: { imports } };
