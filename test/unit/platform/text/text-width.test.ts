import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { cutToWidth, padToWidth, textWidth, wrapToWidth } from "../../../../src/platform/text/text-width.ts";

describe("textWidth", () => {
  test.each([
    ["", 0],
    ["arm-7", 5],
    ["Zürich", 6],
    ["Zu\u0308rich", 6],
    ["機械臂", 6],
    ["로봇 7", 6],
    ["ロボット", 8],
    ["ロボットアーム", 14],
    ["㈱7", 3],
    ["ﾛﾎ", 2],
    ["ok ✅", 5],
    ["👩‍🔧", 2],
    ["🇨🇭", 2],
    ["→ …", 3],
    ["\u001B[32mok\u001B[39m", 2],
    ["a\u200Bb", 2],
  ])("textWidth: %j → %i columns", (text, columns) => {
    expect(textWidth(text)).toBe(columns);
  });
});

describe("cutToWidth", () => {
  test.each([
    ["robot-policy", 8, "robot-p…"],
    ["robot", 5, "robot"],
    ["機械臂", 5, "機械…"],
    ["機械臂", 4, "機…"],
    ["👩‍🔧👩‍🔧👩‍🔧", 5, "👩‍🔧👩‍🔧…"],
    ["\u001B[32mregistered\u001B[39m", 5, "regi…"],
  ])("cutToWidth: %j in %i columns → %j", (text, columns, cut) => {
    expect(cutToWidth(text, columns)).toBe(cut);
  });

  test.each([
    ["", 5, [""]],
    ["one two three", 7, ["one two", "three"]],
    ["one two three", 80, ["one two three"]],
    ["a word-that-is-longer b", 6, ["a", "word-that-is-longer", "b"]],
    ["arm-1  arm-2  arm-3", 13, ["arm-1  arm-2", "arm-3"]],
    ["\u001B[32mone\u001B[39m two", 7, ["\u001B[32mone\u001B[39m two"]],
    ["機械 臂", 5, ["機械", "臂"]],
  ])("wrapToWidth: %j in %i columns → %j", (text, columns, lines) => {
    expect(wrapToWidth(text, columns)).toEqual(lines);
  });

  test("cutToWidth, padToWidth: any text → exactly the requested width", () => {
    const texts = fc.string({ unit: "grapheme", maxLength: 30 });
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 20 }), (text, columns) => {
        const cell = padToWidth(cutToWidth(text, columns), columns);
        expect(textWidth(cell)).toBe(columns);
      }),
    );
  });
});
