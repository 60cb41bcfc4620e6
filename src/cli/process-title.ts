/**
 * The arguments as `ps` may show them to every user of the computer: without passwords in addresses of databases. Undefined where there
 * are none.
 */
export function titleWithoutPasswords(program: string, argv: readonly string[]): string | undefined {
  const shown = argv.map(withoutPassword);
  return shown.every((text, index) => text === argv[index]) ? undefined : [program, ...shown].join(" ");
}

/** `postgres://USER:PASSWORD@HOST/DATABASE?password=PASSWORD`: a password may hold an @ that nobody escaped. */
function withoutPassword(text: string): string {
  return text
    .replace(/(postgres(?:ql)?:\/\/[^:@/]*):[^/]*@/i, "$1:***@")
    .replaceAll(/([?&](?:ssl)?password=)[^&]*/gi, "$1***");
}
