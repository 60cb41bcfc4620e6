import type { ComponentChildren } from "preact";

import { isObject } from "../data/request.ts";
import { Facts } from "../parts/page.tsx";
import { number } from "../parts/text.ts";

/** What a checkpoint asks of a robot, in words. What it asks nothing of is said to be any. */
export function RequirementsView({ requirements }: { readonly requirements: Readonly<Record<string, unknown>> }) {
  return (
    <Facts
      facts={[
        ["Robot type", anyOf(textsOf(requirements["robot_types"]), "any")],
        ["Camera roles", allOf(textsOf(requirements["camera_roles"]), "none needed")],
        ["State axes", axesText(requirements["state_axes"])],
        ["Action axes", axesText(requirements["action_axes"])],
      ]}
    />
  );
}

function anyOf(texts: readonly string[], none: string): ComponentChildren {
  return texts.length === 0 ? none : texts.join(" or ");
}

function allOf(texts: readonly string[], none: string): ComponentChildren {
  return texts.length === 0 ? none : texts.join(", ");
}

function axesText(value: unknown): string {
  if (!isObject(value)) return "any";
  const units = textsOf(value["units"]).map((unit) => (unit === "1" ? "ratio" : unit));
  const names = textsOf(value["names"]);
  const parts = [
    countText(value["minimum_count"], value["maximum_count"]),
    units.length === 0 ? null : `each in ${units.join(" or ")}`,
    names.length === 0 ? null : `among them ${names.join(", ")}`,
  ];
  return parts.filter((part) => part !== null).join("; ") || "any";
}

function countText(minimum: unknown, maximum: unknown): string | null {
  const least = typeof minimum === "number" ? minimum : 0;
  const most = typeof maximum === "number" ? maximum : null;
  if (most !== null && most === least) return `exactly ${number(most)}`;
  if (most !== null) return least === 0 ? `at most ${number(most)}` : `${number(least)} to ${number(most)}`;
  return least === 0 ? null : `at least ${number(least)}`;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
