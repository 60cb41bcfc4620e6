import { useEffect, useState } from "preact/hooks";

import { Icon } from "./icon.tsx";
import { showToast } from "./toast.tsx";

const CONFIRMED_MS = 2000;

interface CopyButtonProps {
  readonly text: string;
  /** "digest" */
  readonly what: string;
}

/** Copies a text to the clipboard. */
export function CopyButton({ text, what }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), CONFIRMED_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    if (await copyText(text)) setCopied(true);
    else showToast(`This browser does not let the page copy. Select the ${what} and copy it.`, "problem");
  };
  const label = isCopied ? `Copied ${what}` : `Copy ${what}`;
  return (
    <button type="button" class="chip-copy" aria-label={label} title={label} onClick={copy}>
      <Icon name={isCopied ? "done" : "copy"} />
    </button>
  );
}

/** Characters of a digest that are shown. */
const SHOWN = 12;

interface DigestChipProps {
  readonly digest: string;
  readonly isInList: boolean;
}

/** The start of a digest; the full digest is the title, the text for screen readers, and what the button copies, which lists are without. */
export function DigestChip({ digest, isInList }: DigestChipProps) {
  const hex = digest.replace(/^sha256:/, "");
  return (
    <span class="chip">
      <span class="mono over" title={digest} aria-hidden="true">
        {hex.slice(0, SHOWN)}
      </span>
      <span class="visually-hidden">{digest}</span>
      {isInList ? null : <CopyButton text={digest} what="digest" />}
    </span>
  );
}

/** @returns whether it worked. The clipboard API needs a secure context; the fallback is execCommand. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  // A modal dialog keeps the focus inside, so the field must be inside it too.
  (before?.closest("dialog") ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}
