import { CopyButton } from "./copy-button.tsx";

/** Characters of a digest that are shown. */
const SHOWN = 12;

interface DigestChipProps {
  readonly digest: string;
  readonly isInList?: boolean;
}

/** The start of a digest; the full digest is the title, the text for screen readers, and what the button copies. */
export function DigestChip({ digest, isInList = false }: DigestChipProps) {
  const hex = digest.replace(/^sha256:/, "");
  return (
    <span class="chip">
      <span class="mono over" title={digest} aria-hidden="true">
        {hex.slice(0, SHOWN)}
      </span>
      <span class="visually-hidden">{digest}</span>
      <CopyButton text={digest} what="digest" isInList={isInList} />
    </span>
  );
}
