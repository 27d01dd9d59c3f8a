import { type Clock, sleep } from '../base/clock.ts';
import type { Fault } from '../core/errors.ts';
import type { ChatBody } from '../wire/chat/request/body.ts';
import { type PlacedSchema, guaranteedSchemas } from '../wire/chat/request/guaranteed-schemas.ts';

/**
 * Why a schema cannot be used, or null when it can, or when nobody could find out.
 * It never rejects.
 * @param orgId for whom it is tried: orgs take turns
 */
export type CheckSchema = (given: PlacedSchema, orgId: string) => Promise<Fault | null>;

/**
 * What is tried of one file. The lines behind are not worse off than without the check: they tell themselves what is
 * wrong when they run.
 */
const limits = { schemas: 256, characters: 4 << 20, atOnce: 8, waitMs: 5_000 } as const;

/**
 * The schemas in the lines of one upload: each distinct one is tried once, while further lines come in, so that one which
 * no engine could be given is told at once and not ten thousand times at night.
 */
export class DistinctSchemas {
  readonly #check: CheckSchema;
  readonly #orgId: string;
  readonly #seen = new Set<string>();
  #characters = 0;
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #faults: { order: number; fault: Fault }[] = [];

  constructor(check: CheckSchema, orgId: string) {
    this.#check = check;
    this.#orgId = orgId;
  }

  /**
   * @param textOf what a string of the body says
   * @param placed puts the place of the line before that of the schema
   */
  add(body: ChatBody, textOf: (characters: string) => string, placed: (fault: Fault) => Fault): void {
    if (!body.response_format && !body.tools && !body.functions) return;
    for (const { schema, where } of guaranteedSchemas(body)) {
      const text = JSON.stringify(schema);
      if (this.#seen.has(text)) continue;
      this.#characters += text.length;
      if (this.#seen.size === limits.schemas || this.#characters > limits.characters) continue;
      const order = this.#seen.size;
      this.#seen.add(text);
      const given: PlacedSchema = { schema: JSON.parse(textOf(text)), where };
      this.#waiting.push(async () => {
        const fault = await this.#check(given, this.#orgId);
        if (fault) this.#faults.push({ order, fault: placed(fault) });
      });
    }
    this.#begin();
  }

  /** The faults there are, in the order of the lines, when all are known or that has taken too long. */
  async faults(clock: Clock): Promise<Fault[]> {
    const late = new AbortController();
    const wait = sleep(clock, limits.waitMs, late.signal).then(() => this.drop());
    while (this.#running.size > 0 && (await this.#settled(wait)));
    late.abort();
    return this.#faults.toSorted((a, b) => a.order - b.order).map(({ fault }) => fault);
  }

  /** The faults are of no use any more. */
  drop(): void {
    this.#waiting.length = 0;
  }

  /** False when the time is over. */
  async #settled(wait: Promise<unknown>): Promise<boolean> {
    const one = Promise.all(this.#running).then(() => true);
    return Promise.race([one, wait.then(() => false)]);
  }

  #begin(): void {
    while (this.#running.size < limits.atOnce) {
      const next = this.#waiting.shift();
      if (!next) return;
      const run = next().finally(() => {
        this.#running.delete(run);
        this.#begin();
      });
      this.#running.add(run);
    }
  }
}
