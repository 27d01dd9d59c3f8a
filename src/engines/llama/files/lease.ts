import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { kill, pid as ownPid } from 'node:process';
import type { Clock } from '../../../base/clock.ts';
import { diskFault } from './faults.ts';
import type { ModelFs } from './part-file.ts';

/** The right to write a file's part, told to other processes by `<name>.part.lock`. */
export interface Lease {
  release(): Promise<void>;
}

export interface LeaseDeps {
  fs: ModelFs;
  clock: Clock;
  /** Tells this process from an earlier one with the same number. */
  token: string;
}

interface Holder {
  host: string;
  pid: number;
  token: string;
}

const renewEveryMs = 10_000;
/** A lock this old is nobody's: its holder renews it. */
const staleMs = 60_000;

/** Takes the lease of `path`, or tells who holds it. */
export async function takeLease(path: string, deps: LeaseDeps): Promise<Lease | { heldBy: Holder }> {
  const { fs, token } = deps;
  const lock = `${path}.part.lock`;
  const own: Holder = { host: hostname(), pid: ownPid, token };
  try {
    await fs.mkdir(dirname(path), { recursive: true });
    for (let attempt = 0; attempt < 3; attempt++) {
      if (await create(lock, own, fs)) return hold(lock, deps);
      const holder = await read(lock, fs);
      if (holder !== undefined && !(await isStale(lock, holder, own, deps))) return { heldBy: holder };
      await fs.rm(lock, { force: true });
    }
  } catch (error) {
    throw diskFault(error, lock);
  }
  return { heldBy: (await read(lock, fs)) ?? own };
}

async function create(lock: string, own: Holder, fs: ModelFs): Promise<boolean> {
  try {
    await fs.writeFile(lock, JSON.stringify(own), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Undefined when it is gone, or was left half-written. */
async function read(lock: string, fs: ModelFs): Promise<Holder | undefined> {
  try {
    const holder = JSON.parse(await fs.readFile(lock, 'utf8')) as Partial<Holder>;
    return typeof holder.pid === 'number' ? (holder as Holder) : undefined;
  } catch {
    return undefined;
  }
}

async function isStale(
  lock: string,
  holder: Holder,
  own: Holder,
  { fs, clock }: LeaseDeps,
): Promise<boolean> {
  if (holder.host === own.host) {
    if (holder.pid === own.pid) return holder.token !== own.token;
    if (!isAlive(holder.pid)) return true;
  }
  const { mtimeMs } = await fs.stat(lock).catch(() => ({ mtimeMs: -Infinity }));
  return clock.now() - mtimeMs > staleMs;
}

function isAlive(pid: number): boolean {
  try {
    return kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function hold(lock: string, { fs, clock }: LeaseDeps): Lease {
  const renew = () => {
    timer = clock.after(renewEveryMs, renew);
    const now = clock.now() / 1000;
    void fs.utimes(lock, now, now).catch(() => {});
  };
  let timer = clock.after(renewEveryMs, renew);
  return {
    async release() {
      timer.cancel();
      await fs.rm(lock, { force: true });
    },
  };
}
