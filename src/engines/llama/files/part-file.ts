import type { FileHandle } from 'node:fs/promises';
import type { Timer } from '../../../base/clock.ts';
import { parseOrUndefined } from '../../../base/fields.ts';
import type { ModelFileDeps, ModelFs } from './model-file-deps.ts';
import { type Range, addRange, bytesIn } from './ranges.ts';
import { type FileVersion, type RemoteFile, isSameVersion } from './remote.ts';

/**
 * An incomplete file, `<name>.part`, with `<name>.part.json`, which lists the bytes that are on the disk. The list is
 * written after the bytes are flushed, so a crash loses at most a second of work.
 */
export type PartFile = Awaited<ReturnType<typeof openPart>>;

interface PartState extends FileVersion {
  version: 1;
  size: number;
  done: [number, number][];
}

const saveEveryMs = 1000;

export const partPath = (path: string): string => `${path}.part`;
export const statePath = (path: string): string => `${path}.part.json`;

export async function fileSize(path: string, fs: ModelFs): Promise<number | null> {
  const found = await fs.stat(path).catch(() => null);
  return found?.isFile() === true ? found.size : null;
}

/** Opens the part file of `path`, with the bytes that an earlier attempt left of the same version. */
export async function openPart(path: string, file: RemoteFile, { fs, clock }: ModelFileDeps) {
  let done = await doneBefore(path, file, fs);
  const handle: FileHandle = await fs.open(partPath(path), done.length > 0 ? 'r+' : 'w');
  let saving: Promise<void> = Promise.resolve();
  let timer: Timer | undefined;

  async function saveNow(): Promise<void> {
    const { size, tag, sha256 } = file;
    if (size === null || !file.ranges) return;
    const there = done.map(({ start, end }): [number, number] => [start, end]);
    const state: PartState = { version: 1, size, tag, sha256, done: there };
    await handle.datasync();
    await fs.writeFile(`${statePath(path)}.tmp`, JSON.stringify(state));
    await fs.rename(`${statePath(path)}.tmp`, statePath(path));
  }

  /** Flushes the bytes and saves their list. Saves run one after another, because all write the same file. */
  function save(): Promise<void> {
    saving = saving.catch(() => {}).then(saveNow);
    return saving;
  }

  function saveSoon(): void {
    timer ??= clock.after(saveEveryMs, () => {
      timer = undefined;
      // The next write, or the last save, reports a failing disk.
      save().catch(() => {});
    });
  }

  return {
    get done(): readonly Range[] {
      return done;
    },
    save,
    async write(chunk: Buffer, at: number) {
      for (let from = 0; from < chunk.length;) {
        const { bytesWritten } = await handle.write(chunk, from, chunk.length - from, at + from);
        from += bytesWritten;
      }
      done = addRange(done, { start: at, end: at + chunk.length });
      saveSoon();
    },
    /** Discards everything that was fetched. */
    async clear() {
      done = [];
      await handle.truncate(0);
      await fs.rm(statePath(path), { force: true });
    },
    async close() {
      timer?.cancel();
      await saving.catch(() => {});
      await handle.close();
    },
  };
}

/** Ranges that an earlier attempt fetched; empty unless they are of the same version. */
async function doneBefore(path: string, file: RemoteFile, fs: ModelFs): Promise<Range[]> {
  const state = file.ranges ? await readState(path, fs) : undefined;
  if (state === undefined || state.size !== file.size || !isSameVersion(state, file)) return [];
  const there = (await fileSize(partPath(path), fs)) ?? 0;
  return state.done
    .map(([start, end]) => ({ start, end: Math.min(end, there, state.size) }))
    .reduce<Range[]>(addRange, []);
}

async function readState(path: string, fs: ModelFs): Promise<PartState | undefined> {
  const text = await fs.readFile(statePath(path), 'utf8').catch(() => '');
  const state = parseOrUndefined(text) as Partial<PartState> | null | undefined;
  const isWhole =
    state?.version === 1 &&
    typeof state.size === 'number' &&
    Array.isArray(state.done) &&
    state.done.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(isOffset));
  return isWhole ? (state as PartState) : undefined;
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The share of an unfinished file that is known to be on the disk. */
export async function shareDone(path: string, fs: ModelFs): Promise<number> {
  const state = await readState(path, fs);
  if (state === undefined || state.size === 0) return 0;
  return bytesIn(state.done.map(([start, end]) => ({ start, end }))) / state.size;
}
