import { CONSOLE_PART, type BundledPackage, type License } from "./bundled.ts";

/** The file of a package with the notices of Node's authors, compressed, because it is longer than everything else. */
export function nodeNotices(name: string): string {
  return `usr/share/doc/${name}/node-notices.gz`;
}

/** The file `copyright` of a package, in machine-readable form (DEP-5). */
export function copyright(name: string, bundled: readonly BundledPackage[]): string {
  const used = new Set(["Apache-2.0", "Node.js", "Expat", ...bundled.map(({ license }) => DEBIAN_NAMES[license])]);
  const texts = Object.entries({ ...TEXTS, "Node.js": nodeLicense(name) }).filter(([license]) => used.has(license));
  return [
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
    "Upstream-Name: robot-policy-agent",
    "",
    "Files: *",
    "Copyright: 2026 the authors of robot-policy-agent",
    "License: Apache-2.0",
    "",
    `Files: usr/lib/${name}/node`,
    "Copyright: Node.js contributors, Joyent, Inc. and other Node contributors, and the authors of the libraries in it",
    "License: Node.js",
    "",
    ...bundled.flatMap((each) => describePackage(name, each)),
    ...texts.flatMap(([license, text]) => [`License: ${license}`, indent(text), ""]),
  ].join("\n");
}

function describePackage(owner: string, bundled: BundledPackage): readonly string[] {
  const { name, version, license, copyright: lines, parts } = bundled;
  const files = parts.map((part) => `usr/lib/${owner}/${part === CONSOLE_PART ? "console/*" : `lib/${part}`}`);
  return [
    `Files: ${files.join(" ")}`,
    ...lines.map((line, index) => `${index === 0 ? "Copyright:" : "          "} ${line}`),
    `License: ${DEBIAN_NAMES[license]}`,
    `Comment: the parts that are of ${name} ${version}`,
    "",
  ];
}

/** DEP-5's own names of licences. */
const DEBIAN_NAMES: Readonly<Record<License, string>> = {
  MIT: "Expat",
  ISC: "ISC",
  "Apache-2.0": "Apache-2.0",
  "BSD-3-Clause": "BSD-3-clause",
  Unlicense: "Unlicense",
};

function nodeLicense(name: string): string {
  return `Node.js is under the Expat license below. Its authors' own words, and the
licenses of all libraries in it, are in
/${nodeNotices(name)}.`;
}

const TEXTS: Readonly<Record<string, string>> = {
  "Apache-2.0": `On Debian systems the full text of the Apache License, Version 2.0, is in
/usr/share/common-licenses/Apache-2.0.`,
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
  "BSD-3-clause": `Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this
list of conditions and the following disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice,
this list of conditions and the following disclaimer in the documentation
and/or other materials provided with the distribution.

3. Neither the name of the copyright holder nor the names of its contributors
may be used to endorse or promote products derived from this software without
specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND
ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED
WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE
FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER
CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY,
OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE
OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.`,
  Unlicense: `This is free and unencumbered software released into the public domain.

Anyone is free to copy, modify, publish, use, compile, sell, or distribute this
software, either in source code form or as a compiled binary, for any purpose,
commercial or non-commercial, and by any means. For more information, please
refer to <https://unlicense.org>.`,
};

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? " ." : ` ${line}`))
    .join("\n");
}
