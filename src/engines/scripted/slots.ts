import type { EngineCall } from '../engines.ts';

/** A fixed number of places; who finds none waits, interactive work before batch work, first come first served. */
export interface Slots {
  readonly running: number;
  readonly waiting: number;
  /** Resolves with the function that gives the place back. Rejects with the signal's reason, or as `close` says. */
  take(call: Pick<EngineCall, 'priority' | 'signal'>): Promise<() => void>;
  /** Turns away all who wait. */
  close(reason: Error): void;
}

interface Waiter {
  enter(): void;
  refuse(reason: unknown): void;
}

export function createSlots(count: number): Slots {
  const queues: Record<EngineCall['priority'], Set<Waiter>> = { interactive: new Set(), batch: new Set() };
  let running = 0;

  function next(): void {
    for (const queue of [queues.interactive, queues.batch]) {
      for (const waiter of queue) {
        if (running >= count) return;
        queue.delete(waiter);
        waiter.enter();
      }
    }
  }

  function place(): () => void {
    running++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      running--;
      next();
    };
  }

  return {
    get running() {
      return running;
    },
    get waiting() {
      return queues.interactive.size + queues.batch.size;
    },
    take({ priority, signal }) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (running < count) return Promise.resolve(place());
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          enter() {
            signal.removeEventListener('abort', leave);
            resolve(place());
          },
          refuse(reason) {
            queues[priority].delete(waiter);
            signal.removeEventListener('abort', leave);
            reject(reason);
          },
        };
        const leave = () => waiter.refuse(signal.reason);
        signal.addEventListener('abort', leave, { once: true });
        queues[priority].add(waiter);
      });
    },
    close(reason) {
      for (const queue of Object.values(queues)) for (const waiter of queue) waiter.refuse(reason);
    },
  };
}
