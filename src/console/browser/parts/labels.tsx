import { None } from "./page.tsx";

interface LabelsProps {
  readonly labels: Readonly<Record<string, string>>;
  /** On several lines if needed; otherwise as far as they fit on one. */
  readonly isWhole?: boolean;
}

export function Labels({ labels, isWhole = false }: LabelsProps) {
  const pairs = Object.entries(labels);
  if (pairs.length === 0) return <None />;
  const title = pairs.map(([name, value]) => `${name}=${value}`).join("\n");
  return (
    <span class={isWhole ? "labels labels-wrap" : "labels"} title={title}>
      {pairs.map(([name, value]) => (
        <span key={name} class="label">
          {name}={value}
        </span>
      ))}
    </span>
  );
}
