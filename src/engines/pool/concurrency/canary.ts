import type { Clock, Timer } from '../../../base/clock.ts';
import type { ChatRequest } from '../../../wire/chat/chat.ts';
import { builtBody } from '../../../wire/json/json-body.ts';
import type { Engine } from '../../engines.ts';
import type { CanaryPace } from './goodput-search.ts';
import type { Measurement } from './measurement.ts';

/** Tokens of its answer, and the fewest that show a pace. */
const tokens = { max: 16, min: 6 } as const;
/** Milliseconds that answers have to show the pace of a step before a canary is sent, and those between canaries. */
const waitMs = { first: 250, next: 50 } as const;
/** Time limit of a canary. Answers show the pace sooner. */
const maxMs = 60_000;

export interface CanaryDeps {
  engine: Pick<Engine, 'capabilities' | 'stream'>;
  clock: Clock;
  /** Step that should be measured; null where none is. */
  step: () => Measurement | null;
  /** Called with the pace; null where the canary failed. */
  onPace: (step: Measurement, pace: CanaryPace | null) => void;
}

/**
 * Short streamed answer that shows within a fraction of a second how a server fares with the requests in flight, where their
 * own answers take long: the time of the first token shows a queue, that of the others how fast each request runs.
 */
export class Canary {
  readonly #deps: CanaryDeps;
  #timer: Timer | null = null;
  #isOut = false;
  #isUnable = false;
  #waitMs: number = waitMs.first;
  readonly #stop = new AbortController();

  constructor(deps: CanaryDeps) {
    this.#deps = deps;
  }

  /** Sends a canary if a step stays unmeasured for a while. Called whenever the requests in flight change. */
  look(): void {
    if (this.#timer || this.#isOut || this.#isUnable || this.#stop.signal.aborted) return;
    const { clock, step, engine } = this.#deps;
    const current = step();
    if (!current || !engine.capabilities.serves.includes('chat')) return;
    this.#timer = clock.after(this.#waitMs, () => {
      this.#timer = null;
      if (step() === current) void this.#send(current);
      else this.look();
    });
  }

  stop(): void {
    this.#stop.abort();
    this.#timer?.cancel();
  }

  async #send(step: Measurement): Promise<void> {
    this.#isOut = true;
    const pace = await this.#measure().catch(() => null);
    this.#isOut = false;
    if (this.#stop.signal.aborted) return;
    this.#isUnable = pace === null;
    this.#waitMs = waitMs.next;
    this.#deps.onPace(step, pace);
    this.look();
  }

  async #measure(): Promise<CanaryPace | null> {
    const { clock, engine } = this.#deps;
    const limit = new AbortController();
    const timer = clock.after(maxMs, () => limit.abort());
    const signal = AbortSignal.any([limit.signal, this.#stop.signal]);
    const messages = [{ role: 'user' as const, content: 'Count from 1 to 100.' }];
    const chat: ChatRequest & Record<string, unknown> = {
      model: '',
      messages,
      max_completion_tokens: tokens.max,
    };
    const sentAt = clock.monotonic();
    let [firstAt, lastAt, count] = [0, 0, 0];
    try {
      for await (const chunks of engine.stream(builtBody(chat), { signal, priority: 'batch' }))
        for (const { choices, usage } of chunks) {
          if (usage) count = Math.max(count, usage.completion_tokens);
          if (choices.length === 0) continue;
          lastAt = clock.arrival();
          if (count++ === 0) firstAt = lastAt;
        }
    } finally {
      timer.cancel();
    }
    return count < tokens.min
      ? null
      : { firstMs: firstAt - sentAt, tokenMs: (lastAt - firstAt) / (count - 1) };
  }
}
