import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { KeyStore } from '../store/contract/accounts.ts';

const flushMs = 60_000;

/** Records when keys were last used. Writes at most once a minute, because only people read it. */
export function createLastUsed(deps: { keys: KeyStore; clock: Clock; log: Log }) {
  const { keys, clock, log } = deps;
  let unwritten = new Map<string, number>();
  let timer: Timer | undefined;
  let flushing = Promise.resolve();

  async function write() {
    const uses = [...unwritten].map(([id, at]) => ({ id, at }));
    unwritten = new Map();
    if (uses.length === 0) return;
    try {
      await keys.touch(uses);
    } catch (error) {
      log.warn({ err: error, keys: uses.length }, 'could not store when keys were last used');
    }
  }

  function flush(): Promise<void> {
    timer?.cancel();
    timer = undefined;
    return (flushing = flushing.then(write));
  }

  return {
    note(keyId: string) {
      unwritten.set(keyId, clock.now());
      timer ??= clock.after(flushMs, () => void flush());
    },
    /** Writes the uses so far and stops the timer. */
    stop: flush,
  };
}
