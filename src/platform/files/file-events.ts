import { errorCode } from "./files.ts";

/** Change events of directories, from inotify. An event is only a hint to check the entry. */
export interface FileEvents {
  /** Reports events of `directory`'s own entries until closed. */
  watch(directory: string, listener: DirectoryListener): DirectoryWatch;
}

export interface DirectoryListener {
  /** Something happened to the entry `name`, or to the directory itself when null. */
  onEvent(name: string | null): void;
  /** Events are now reported; what changed before may have been missed. */
  onReady(): void;
  /** Watching failed for good, for example ENOSPC when all inotify watches are in use. */
  onFailure(code: string): void;
}

export interface DirectoryWatch {
  close(): void;
}

/** Uses chokidar for one directory, without its own stats of the files: only the kernel's event is needed, the agent does the stats. */
export const systemFileEvents: FileEvents = {
  watch(directory, listener) {
    let close: (() => void) | null = null;
    let closed = false;
    void open().catch((error: unknown) => {
      if (!closed) listener.onFailure(errorCode(error) ?? "UNKNOWN");
    });
    return {
      close() {
        closed = true;
        close?.();
      },
    };

    async function open(): Promise<void> {
      const { FSWatcher } = await import("chokidar");
      // chokidar shares one handle per path: a watch opened before the last one is closed would get its handle of a removed folder.
      await closing.get(directory);
      if (closed) return;
      const watcher = new FSWatcher({
        depth: 0,
        ignoreInitial: true,
        ignored: (path) => path !== directory,
        persistent: true,
      });
      let failed = false;
      watcher.on("raw", (event, path) => listener.onEvent(entryName(directory, event, path)));
      watcher.on("ready", () => {
        if (!failed && !closed) listener.onReady();
      });
      watcher.on("error", (error) => {
        if (failed || closed) return;
        failed = true;
        listener.onFailure(errorCode(error) ?? "UNKNOWN");
      });
      watcher.add(directory);
      close = () => {
        const ended = watcher.close().finally(() => {
          if (closing.get(directory) === ended) closing.delete(directory);
        });
        closing.set(directory, ended);
      };
    }
  },
};

/** Watches that are being closed, by directory. */
const closing = new Map<string, Promise<void>>();

/** inotify reports the removal or move of the directory itself as a `rename` of its base name, which may also be an entry's name. */
function entryName(directory: string, event: string, path: string | null): string | null {
  if (path === null || path === directory) return null;
  return event === "rename" && directory.endsWith(`/${path}`) ? null : path;
}
