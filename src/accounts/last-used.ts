import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { KeyStore } from '../store/contract/accounts.ts';

const flushMs = 60_000;

/** Remembers when keys were last used and writes it at most once a minute: it is for people, not for decisions. */
export function createLastUsed(deps: { keys: KeyStore; clock: Clock; log: Log }) {
  const { keys, clock, log } = deps;
  let noted = new Map<string, number>();
  let timer: Timer | undefined;
  let flushing = Promise.resolve();

  async function write() {
    const uses = [...noted].map(([id, at]) => ({ id, at }));
    noted = new Map();
    if (uses.length === 0) return;
    try {
      await keys.touch(uses);
    } catch (error) {
      log.warn({ err: error, keys: uses.length }, 'could not note when keys were last used');
    }
  }

  function flush(): Promise<void> {
    timer?.cancel();
    timer = undefined;
    flushing = flushing.then(write);
    return flushing;
  }

  return {
    note(keyId: string) {
      noted.set(keyId, clock.now());
      timer ??= clock.after(flushMs, () => void flush());
    },
    /** Writes what is noted and stops the timer. */
    stop: flush,
  };
}
