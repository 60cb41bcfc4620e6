import { None } from "./none.tsx";

interface LabelsProps {
  readonly labels: Readonly<Record<string, string>>;
  /** Shows all labels, on several lines if needed; otherwise a few on one line. */
  readonly isWhole?: boolean;
}

const IN_LINE = 4;

export function Labels({ labels, isWhole = false }: LabelsProps) {
  const pairs = Object.entries(labels);
  if (pairs.length === 0) return <None />;
  const shown = isWhole ? pairs : pairs.slice(0, IN_LINE);
  const title = pairs.map(([name, value]) => `${name}=${value}`).join("\n");
  return (
    <span class={isWhole ? "labels labels-wrap" : "labels"} title={title}>
      {shown.map(([name, value]) => (
        <span key={name} class="label">
          <span class="label-name">{name}=</span>
          {value}
        </span>
      ))}
      {pairs.length > shown.length ? <span class="label">+{pairs.length - shown.length}</span> : null}
    </span>
  );
}
