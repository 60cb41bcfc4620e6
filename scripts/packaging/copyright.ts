import type { BundledPackage, License } from "./bundled.ts";

/** The file with the notices of Node's authors, compressed, because it is longer than everything else. */
export const NODE_NOTICES = "usr/share/doc/robot-policy-agent/node-notices.gz";

/** The file `copyright` of the package, in machine-readable form (DEP-5). */
export function copyright(bundled: readonly BundledPackage[]): string {
  return [
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
    "Upstream-Name: robot-policy-agent",
    "",
    "Files: *",
    "Copyright: 2026 the authors of robot-policy-agent",
    "License: Apache-2.0",
    "",
    "Files: usr/lib/robot-policy-agent/node",
    "Copyright: Node.js contributors, Joyent, Inc. and other Node contributors, and the authors of the libraries in it",
    "License: Node.js",
    "",
    ...bundled.flatMap(describePackage),
    ...Object.entries(TEXTS).flatMap(([name, text]) => [`License: ${name}`, indent(text), ""]),
  ].join("\n");
}

function describePackage({ name, version, license, copyright: lines, parts }: BundledPackage): readonly string[] {
  return [
    `Files: ${parts.map((part) => `usr/lib/robot-policy-agent/lib/${part}`).join(" ")}`,
    ...lines.map((line, index) => `${index === 0 ? "Copyright:" : "          "} ${line}`),
    `License: ${DEBIAN_NAMES[license]}`,
    `Comment: the parts that are of ${name} ${version}`,
    "",
  ];
}

/** DEP-5's own names of licences. */
const DEBIAN_NAMES: Readonly<Record<License, string>> = { MIT: "Expat", ISC: "ISC", "Apache-2.0": "Apache-2.0" };

const TEXTS: Readonly<Record<string, string>> = {
  "Apache-2.0": `On Debian systems the full text of the Apache License, Version 2.0, is in
/usr/share/common-licenses/Apache-2.0.`,
  "Node.js": `Node.js is under the Expat license below. Its authors' own words, and the
licenses of all libraries in it, are in
/${NODE_NOTICES}.`,
  Expat: `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`,
  ISC: `Permission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH
REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND
FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM
LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR
OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR
PERFORMANCE OF THIS SOFTWARE.`,
};

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? " ." : ` ${line}`))
    .join("\n");
}
