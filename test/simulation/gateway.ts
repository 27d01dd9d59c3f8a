import { ApiError } from '../../src/core/errors.ts';
import type { VirtualTime } from '../support/virtual-clock.ts';

/** Attempts per request, consecutive failures that open the circuit, and its times, in ms. */
const usual = { tries: 5, failures: 10, openMs: 60_000, pauseMs: 50 };

/**
 * Router in front of one worker, like those of SGLang and vLLM: it retries, and opens its circuit after repeated failures.
 * Then it lets a single request through now and then, and answers all others with 503.
 */
export class Gateway {
  #how: typeof usual;
  #failures = 0;
  #opensAt: number | null = null;
  /** Requests that reached the worker. */
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
