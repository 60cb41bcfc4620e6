import { expect, test } from "vitest";

import { csvLine } from "../../../../src/platform/text/csv.ts";

test("csvLine: quotes what would be taken apart", () => {
  expect(csvLine(["a", 'b"c', "d,e", "f\ng", "h;i", 1, null])).toBe('a,"b""c","d,e","f\ng","h;i",1,');
});

test.each([
  ['=HYPERLINK("http://evil.example","arm-1")', '"\'=HYPERLINK(""http://evil.example"",""arm-1"")"'],
  ["+1", '"\'+1"'],
  ["-1+1", '"\'-1+1"'],
  ["@SUM(A1)", '"\'@SUM(A1)"'],
  [" =1+1", '"\' =1+1"'],
  ["＝1+1", '"\'＝1+1"'],
  ["\t=1", '"\'\t=1"'],
  ["\r=1", '"\'\r=1"'],
  ["\n=1", '"\'\n=1"'],
  ["|cmd", '"\'|cmd"'],
  ["%0A", '"\'%0A"'],
  ["＋1", '"\'＋1"'],
  ["－1", '"\'－1"'],
  ["＠1", '"\'＠1"'],
  ["arm=1", "arm=1"],
  [-1, "-1"],
])("csvLine: no spreadsheet takes %j for a formula", (cell, text) => {
  expect(csvLine([cell])).toBe(text);
});
