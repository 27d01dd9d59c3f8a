import { ApiError } from '../../src/core/errors.ts';
import type { VirtualTime } from '../support/virtual-clock.ts';

/** Tries of one request, failures in a row that open the circuit, and how long a half-open one is waited for. */
const usual = { tries: 5, failures: 10, openMs: 60_000, pauseMs: 50 };

/**
 * A router in front of one worker, as those of SGLang and vLLM are: it asks again, and leaves the worker alone once it has failed
 * often. From then on one request is let through now and then, and 503 is said to all others.
 */
export class Gateway {
  #how: typeof usual;
  #failures = 0;
  #opensAt: number | null = null;
  /** Requests that came to the worker. */
  asked = 0;

  constructor(how: Partial<typeof usual> = {}) {
    this.#how = { ...usual, ...how };
  }

  isClosed(time: Pick<VirtualTime, 'elapsed'>): boolean {
    return this.#opensAt === null || time.elapsed >= this.#opensAt;
  }

  async pass<T>(time: VirtualTime, work: () => Promise<T>): Promise<T> {
    for (let left = this.#how.tries; ;) {
      if (!this.isClosed(time)) throw noWorkers();
      this.asked++;
      try {
        const answer = await work();
        this.#failures = 0;
        this.#opensAt = null;
        return answer;
      } catch (error) {
        if (!(error instanceof ApiError) || error.blame.scope === 'request') throw error;
        const isHalfOpen = this.#opensAt !== null;
        if (++this.#failures >= this.#how.failures || isHalfOpen)
          this.#opensAt = time.elapsed + this.#how.openMs;
        if (--left === 0) throw error;
      }
      await new Promise<void>((resolve) => time.after(this.#how.pauseMs, resolve));
    }
  }
}

function noWorkers(): ApiError {
  return new ApiError('engine_overloaded', 'The server takes no more requests (status 503).', {
    upstreamMessage: 'No available workers (all circuits open or unhealthy)',
  });
}
