/**
 * The arguments without passwords in database addresses, because `ps` shows them to every user. Undefined when there are no passwords.
 */
export function titleWithoutPasswords(program: string, argv: readonly string[]): string | undefined {
  const shown = argv.map(withoutPassword);
  return shown.every((text, index) => text === argv[index]) ? undefined : [program, ...shown].join(" ");
}

/** `postgres://USER:PASSWORD@HOST/DATABASE?password=PASSWORD`; the password may contain an unescaped @. */
function withoutPassword(text: string): string {
  return text
    .replace(/(postgres(?:ql)?:\/\/[^:@/]*):[^/]*@/i, "$1:***@")
    .replaceAll(/([?&](?:ssl)?password=)[^&]*/gi, "$1***");
}
