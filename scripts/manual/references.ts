/** The pages that hold what the code knows, one a program: nothing in them is written by hand. */
import { agentReference } from "./agent.ts";
import { operatorReference } from "./operator.ts";
import { markdownOf, type Section } from "./section.ts";
import { serviceReference } from "./service.ts";

/** By path from the root of the repository. */
export const REFERENCES: Readonly<Record<string, string>> = {
  "src/agent/REFERENCE.md": pageOf("robot-policy-agent", agentReference),
  "src/operator/REFERENCE.md": pageOf("robot-policy", operatorReference),
  "src/service/REFERENCE.md": pageOf("robot-policy-service", serviceReference),
};

function pageOf(program: string, sections: readonly Section[]): string {
  const head = `# Reference of ${program}\n\nMade from the code; [README.md](README.md) says how to use it.`;
  return `${[head, ...sections.map(markdownOf)].join("\n\n")}\n`;
}
