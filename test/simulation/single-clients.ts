import type { DurableRequest } from '../../src/batches/requests/durable-requests.ts';
import { ApiError, type ErrorCode } from '../../src/core/errors.ts';
import type { Caller } from '../../src/core/org.ts';
import { createSeededRandom, type SeededRandom } from '../support/seeded-random.ts';
import type { World } from './world.ts';

/** Errors with which a single request may end. */
const endings = new Set<ErrorCode>(['resource_unavailable', 'poison_request']);

/** Org of all single requests. */
export const singlesOrg = 'org_s';

/** Marker in the prompt of a single request, which makes its answer unique. */
export const singleOf = (name: string) => `single ${name}`;

/** One user with one single request, which it repeats at any process until it has the answer, and twice more after that. */
export class SingleClient {
  readonly name: string;
  /** True once the client has its answer, and the same one from its repeats. */
  done = false;
  /** Answer, or code of the error with which the request ended. */
  outcome: string | undefined;
  #world: World;
  #random: SeededRandom;
  #caller: Caller;

  constructor(world: World, seed: number, n: number) {
    this.#world = world;
    this.#random = createSeededRandom(seed * 1_000 + n);
    this.name = `s${n}`;
    this.#caller = { orgId: singlesOrg, keyId: 'key_s', scopes: [], models: null };
  }

  async run(): Promise<void> {
    const random = this.#random;
    await this.#sleep(random.int(0, this.#world.plan.calmFrom));
    const delayMs = random.int(100, 8_000);
    const startedAt = this.#world.time.clock.now();
    const value = {
      model: this.#world.plan.models[0]!,
      messages: [{ role: 'user', content: `[[delay ${delayMs}]] ${singleOf(this.name)}` }],
    };
    for (let retry = 0, repeats = 0; repeats < 3; retry++) {
      const request: DurableRequest = {
        endpoint: '/v1/chat/completions',
        body: { value, text: JSON.stringify(value) },
        tier: 'flex',
        timeoutMs: 3_600_000,
        creation: { token: `k:chat:${this.name}`, bodyHash: 'x', startedAt, retry, ttlMs: 86_400_000 },
      };
      const outcome = await this.#ask(request);
      if (outcome === undefined) continue;
      this.outcome ??= outcome;
      if (this.outcome !== outcome)
        this.#world.observer.fail(`${this.name} was told ${this.outcome}, then ${outcome}`);
      repeats++;
    }
    this.done = true;
  }

  /** Asks a random process; undefined if it gives no answer in time, or cannot store the request. */
  async #ask(request: DurableRequest): Promise<string | undefined> {
    const process = this.#world.anyProcess();
    if (!process) {
      await this.#sleep(1_000);
      return undefined;
    }
    const leaving = new AbortController();
    const patience = this.#world.time.after(this.#random.int(500, 20_000), () => leaving.abort());
    const left = new Promise<undefined>((resolve) => {
      leaving.signal.addEventListener('abort', () => resolve(undefined));
    });
    const { requests } = process.batches;
    const asked = requests
      .submit(this.#caller, request)
      .then((submitted) => requests.answer(submitted, leaving.signal))
      .catch(async (error: unknown) => {
        if (error instanceof ApiError && this.#mayEndWith(error.code)) return error.code;
        this.#world.trace.add(this.name, `gets an error from ${process.name}: ${String(error)}`);
        await this.#sleep(200);
        return undefined;
      });
    const outcome = await Promise.race([asked, left]);
    patience.cancel();
    return outcome;
  }

  /** An engine that breaks at random can break at every attempt. */
  #mayEndWith(code: ErrorCode): boolean {
    return endings.has(code) || (code === 'upstream_error' && this.#world.plan.flaky > 0);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.time.after(ms, resolve);
    });
  }
}
