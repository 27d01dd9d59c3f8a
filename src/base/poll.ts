import type { Clock, Timer } from './clock.ts';
import type { Service } from './service.ts';

/** Repeated read of a shared state. */
export interface Poll extends Service {
  /** Reads now, after any read that is under way: the result includes all changes made before the call. */
  refresh(): Promise<void>;
}

/**
 * Reads at the start, which must succeed, and then `ms` after each read.
 * @param onFailure called for the first failure of a row of failed reads; the state last read remains
 */
export function createPoll(
  clock: Pick<Clock, 'after'>,
  ms: number,
  read: () => Promise<void>,
  onFailure: (error: unknown) => void,
): Poll {
  let timer: Timer | undefined;
  let isStopped = true;
  let isFailing = false;
  let reading: Promise<void> = Promise.resolve();

  function refresh(): Promise<void> {
    const next = reading.then(read);
    reading = next.catch(() => {});
    return next;
  }

  function schedule(): void {
    if (isStopped) return;
    timer = clock.after(ms, () => {
      void refresh()
        .then(
          () => (isFailing = false),
          (error: unknown) => {
            if (!isFailing) onFailure(error);
            isFailing = true;
          },
        )
        .then(schedule);
    });
  }

  return {
    refresh,
    async start() {
      isStopped = false;
      await refresh();
      schedule();
    },
    async stop() {
      isStopped = true;
      timer?.cancel();
      await reading;
    },
  };
}
