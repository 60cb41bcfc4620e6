/** Anything that looks like an API key, a token of a session or an enrolment, a robot's credential, or the secret of a webhook. */
const CREDENTIALS =
  /(?:sk_[A-Za-z0-9]{1,32}_|rps_(?:code|console|poll|robot|session)_)[A-Za-z0-9_-]{8,}|whsec_[A-Za-z0-9+/=]{8,}/g;
/** At the end of a shortened text: what may be the beginning of a credential. */
const LAST_WORD = /[A-Za-z0-9_-]{1,64}$/;
/** Characters that are searched: the text may be as long as a body, and only its beginning is shown. */
const LOOKED_AT_LENGTH = 1024;

export const REDACTED = "[redacted]";

export function redact(text: string): string {
  return text.replaceAll(CREDENTIALS, REDACTED);
}

/** The first hundreds of characters of a text, without credentials and parts of them. */
export function redactBeginning(text: string): string {
  const beginning = redact(text.slice(0, LOOKED_AT_LENGTH));
  return text.length > LOOKED_AT_LENGTH ? beginning.replace(LAST_WORD, "") : beginning;
}
