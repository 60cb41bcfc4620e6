/** What an operator changes, described as data: a button, and the dialog that asks and sends it. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { ApiKeyScope } from "../../../../api/wire/scopes.ts";
import { visible } from "../../../../platform/text/visible.ts";
import type { Topic } from "../../../topics.ts";
import { invalidate } from "../../data/query.ts";
import type { Write } from "../../data/request.ts";
import { mayDo } from "../../data/session.ts";
import { useWrite } from "../../data/write.ts";
import { navigate, useLocation } from "../../router.ts";
import { createStore, useStore } from "../../store.ts";
import { useUnsaved } from "../../unsaved.ts";
import { CopyButton } from "../copy-button.tsx";
import { Icon } from "../icon.tsx";
import { Notice } from "../notice.tsx";
import { showToast } from "../toast.tsx";
import { Dialog } from "./dialog.tsx";
import { EndingButton, useFocusKept } from "./ending-button.tsx";
import { entered, Field, FieldError, type FieldSpec } from "./fields.tsx";
import { formErrors } from "./form-errors.ts";

export interface Change<T = unknown> {
  /** Without this scope there is no button. */
  readonly scope: ApiKeyScope;
  /** On the button that opens the dialog. */
  readonly word: string;
  /** `main` creates something, `danger` cannot be undone. */
  readonly kind?: "main" | "danger";
  readonly title: string;
  /** On the button that sends it; the word unless given. */
  readonly verb?: string;
  /** What the change brings about. */
  readonly body?: ComponentChildren;
  /** What the fields hold at first, by name. */
  readonly initial?: Readonly<Record<string, string>>;
  /** What is asked, for what is entered so far. A hook: it may ask the service for what there is to choose. */
  useForm?(data: FormData): Asked;
  /** Several are sent one after the other, until one is refused. */
  requestOf(data: FormData): ChangeRequest | readonly ChangeRequest[];
  /** What the change affects. */
  readonly topics: readonly Topic[];
  /** @param answer to the last request. */
  made(answer: T, data: FormData): Made;
}

export interface Asked {
  readonly fields: readonly FieldSpec[];
  /** Below the fields. */
  readonly below?: ComponentChildren;
  /** In place of that of the change. */
  readonly verb?: string;
  /** Whether something is lost by it. */
  readonly isDangerous?: boolean;
}

export interface ChangeRequest {
  readonly method: Write;
  readonly path: string;
  readonly body?: unknown;
  /** What an error is about, where there are several requests. */
  readonly subject?: string;
}

/** What follows: what the page says and the page to go to, or what is shown once. */
export type Made = { readonly said: string; readonly tone?: "done" | "problem"; readonly next?: string } | Secret;

interface Secret {
  readonly secret: string;
  readonly title: string;
  readonly what: "key" | "secret";
  /** What the change is for. */
  readonly note: string;
}

const asked = createStore<Change | null>(null);

/** Opens the dialog of a change. */
export function ask(change: Change): void {
  asked.set(change);
}

interface ChangeButtonProps {
  readonly change: Change;
  /** For screen readers, where the word alone does not say what it is about. */
  readonly about?: string;
}

export function ChangeButton({ change, about }: ChangeButtonProps) {
  const { scope, word, kind } = change;
  if (!mayDo(scope)) return null;
  return (
    <EndingButton
      className={kind === undefined ? "button" : `button button-${kind}`}
      label={about === undefined ? undefined : `${word} ${about}`}
      press={() => ask(change)}
    >
      {kind === "main" ? <Icon name="plus" /> : null}
      {word}
    </EndingButton>
  );
}

export function ChangeButtons({ changes }: { readonly changes: readonly Change[] }) {
  return (
    <>
      {changes.map((change) => (
        <ChangeButton key={change.word} change={change} />
      ))}
    </>
  );
}

/** The dialog of the change that is asked. It is outside of the page, whose rows may go while a secret is shown. */
export function ChangeDialog() {
  const { path } = useLocation();
  const change = useStore(asked);
  useLayoutEffect(() => () => asked.set(null), [path]);
  return change === null ? null : <OpenDialog key={change.title} change={change} />;
}

function OpenDialog({ change }: { readonly change: Change }) {
  const [isBusy, setBusy] = useState(false);
  const [secret, setSecret] = useState<Secret | null>(null);
  const close = () => asked.set(null);
  if (secret !== null) return <ShownOnce {...secret} close={close} />;
  return (
    <Dialog title={change.title} close={close} isBusy={isBusy}>
      <ChangeForm change={change} cancel={close} setBusy={setBusy} showOnce={setSecret} />
    </Dialog>
  );
}

interface ChangeFormProps<T> {
  readonly change: Change<T>;
  cancel?(): void;
  setBusy?(isBusy: boolean): void;
  showOnce?(secret: Secret): void;
  /** Shown beside the button that sends the change. */
  readonly children?: ComponentChildren;
}

const NOTHING_ASKED: Asked = { fields: [] };
const noForm = () => NOTHING_ASKED;

/** The form of a change. Cancel comes first: without fields it has the focus. */
export function ChangeForm<T>({ change, cancel, setBusy, showOnce, children }: ChangeFormProps<T>) {
  const { initial = {}, useForm = noForm, kind } = change;
  const { send, isBusy, problem } = useWrite<T>();
  const [data, setData] = useState(() => dataOf(initial));
  const [isEdited, setEdited] = useState(false);
  const [subject, setSubject] = useState("");
  const refused = useRef(data);
  const element = useFocusKept<HTMLFormElement>();
  const { fields, below, verb = change.verb ?? change.word, isDangerous = kind === "danger" } = useForm(data);
  const isConfirmed = fields.some(({ mustBe }) => mustBe !== undefined);
  useUnsaved(isEdited && !isConfirmed);
  useLayoutEffect(() => setBusy?.(isBusy), [isBusy]);
  const names = fields.map(({ name }) => name);
  const errors = formErrors(problem, names, (name) => isSame(name, refused.current, data));
  const isComplete = fields.every((field) => isFilled(field, data));
  const submit = async (sent: FormData) => {
    if (!isComplete || isBusy) return;
    refused.current = sent;
    setData(sent);
    let answer: T | null = null;
    for (const request of [change.requestOf(sent)].flat()) {
      setSubject(request.subject ?? "");
      answer = await send(request.method, request.path, request.body);
      invalidate(change.topics);
      if (answer === null) return;
    }
    if (answer === null) return;
    const made = change.made(answer, sent);
    if ("secret" in made) return showOnce?.(made);
    cancel?.();
    showToast(made.said, made.tone);
    if (made.next !== undefined) navigate(made.next);
  };
  return (
    <form
      ref={element}
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit(new FormData(event.currentTarget));
      }}
      onInput={({ currentTarget }) => {
        setEdited(true);
        setData(new FormData(currentTarget));
      }}
    >
      {change.body}
      {fields.map((field) => (
        <Field key={field.name} {...field} value={initial[field.name] ?? ""} error={errors.of(field.name)} />
      ))}
      {below}
      {errors.rest.map((text) => (
        <FieldError key={text} text={subject === "" ? text : `${subject}: ${text}`} />
      ))}
      <div class="buttons">
        {cancel === undefined ? null : (
          <button type="button" class="button" disabled={isBusy} onClick={cancel}>
            Cancel
          </button>
        )}
        <button
          type="submit"
          class={`button ${isDangerous ? "button-danger" : "button-main"}`}
          disabled={!isComplete}
          aria-disabled={isBusy}
        >
          {verb}
        </button>
        {children}
      </div>
    </form>
  );
}

function dataOf(initial: Readonly<Record<string, string>>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(initial)) data.set(name, value);
  return data;
}

/** Whether the field holds the same, and those below it do. */
function isSame(name: string, before: FormData, now: FormData): boolean {
  const [was, is] = [before, now].map((data) =>
    JSON.stringify([...data].filter(([key]) => key === name || key.startsWith(`${name}.`))),
  );
  return was === is;
}

function isFilled({ name, input, mustBe }: FieldSpec, data: FormData): boolean {
  const value = entered(data, name);
  if (mustBe !== undefined) return shown(value) === shown(mustBe);
  return input?.required !== true || value !== "";
}

/** As the page shows it: white space collapsed, invisible characters written out. */
function shown(text: string): string {
  return visible(text).replaceAll(/\s+/g, " ").trim();
}

/** The name of the field for what has to be typed first, because the wrong one is easily taken. */
export const TYPED = "typed";

export function typedField(name: string, label = `Type ${name} to confirm`): FieldSpec {
  return { name: TYPED, label, mustBe: name, input: { required: true } };
}

/** A new key or secret, which cannot be shown again: only the button that confirms that it is stored closes the dialog. */
function ShownOnce({ title, secret, what, note, close }: Secret & { close(): void }) {
  const [isRefused, setRefused] = useState(false);
  useUnsaved(true);
  return (
    <Dialog title={title} close={() => setRefused(true)} stays>
      <p>{note}</p>
      <p class="key-once">
        <code>{secret}</code>
        <CopyButton text={secret} what={what} />
      </p>
      <div role="status">
        {isRefused ? <Notice tone="degraded" title={`Store the ${what} first: it cannot be shown again.`} /> : null}
      </div>
      <div class="buttons">
        <button type="button" class="button button-main" onClick={close}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}
