import { expect, test } from "vitest";

import { csvLine } from "../../../../src/platform/text/csv.ts";

test("csvLine: separators and quotes in a cell → quoted", () => {
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
])("csvLine: %j → not a formula in a spreadsheet", (cell, text) => {
  expect(csvLine([cell])).toBe(text);
});
