import { expect, it } from "vitest";

import { visible } from "../../../../src/platform/text/visible.ts";

it.each([
  ["cell-7", "cell-7"],
  ["Werk Süd, Zoë's", "Werk Süd, Zoë's"],
  ["שלום 3", "שלום 3"],
  ["two\nlines\tand a stop", "two\nlines\tand a stop"],
  ["cell \u202e1.exe", "cell \\u202e1.exe"],
  ["\u2066cell\u2069", "\\u2066cell\\u2069"],
  ["cell-1\u200b", "cell-1\\u200b"],
  ["cell-1\u00ad", "cell-1\\u00ad"],
  ["cell\u3164", "cell\\u3164"],
  ["cell\u001b[31m\u0085\r", "cell\\u001b[31m\\u0085\\u000d"],
  ["cell\u2028", "cell\\u2028"],
  ["cell\u{e0041}", "cell\\udb40\\udc41"],
  ["half \ud83d", "half \\ud83d"],
])("visible: %j → %j", (text, shown) => {
  expect(visible(text)).toBe(shown);
});

it("visible: joiners and variation selectors → kept in emoji and Persian, escaped in Latin", () => {
  for (const text of ["👩\u200d💻", "❤\ufe0f\u200d🔥", "روبوت\u200cها"]) expect(visible(text)).toBe(text);
  expect(visible("cell\u200d-1")).toBe("cell\\u200d-1");
  expect(visible("caf\u00e9\u200c")).toBe("café\\u200c");
});
