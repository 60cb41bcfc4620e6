/** The permission bits of a mode, as chmod(1) takes them: `0644`. */
export function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}
