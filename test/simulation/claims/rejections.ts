/** An unhandled rejection is a bug, wherever it comes from. */
export function failOnRejection(fail: (message: string) => void): Disposable {
  const onRejection = (reason: unknown) =>
    fail(`unhandled: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}`);
  process.on("unhandledRejection", onRejection);
  return {
    [Symbol.dispose]() {
      process.off("unhandledRejection", onRejection);
    },
  };
}
