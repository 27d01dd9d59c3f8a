import { type Clock, sleep } from '../base/clock.ts';
import type { Fault } from '../core/errors.ts';
import type { ChatBody } from '../wire/chat/request/body.ts';
import { type PlacedSchema, guaranteedSchemas } from '../wire/chat/request/guaranteed-schemas.ts';

/** Finds the fault of a schema; null if it works or could not be tried. Never rejects. @param orgId orgs take turns */
export type CheckSchema = (given: PlacedSchema, orgId: string) => Promise<Fault | null>;

/** Limits per file. Schemas beyond them are checked when their lines run. */
const limits = { schemas: 256, characters: 4 << 20, atOnce: 8, waitMs: 5_000 } as const;

/** Checks each distinct schema of an upload once, while further lines arrive: a bad one is reported now, and not for each line later. */
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

  /** @param textOf decodes a string of the body @param placed adds the line to a fault */
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

  /** Returns the faults in line order, when all schemas are checked or after `limits.waitMs`. */
  async faults(clock: Clock): Promise<Fault[]> {
    const late = new AbortController();
    const wait = sleep(clock, limits.waitMs, late.signal).then(() => this.drop());
    while (this.#running.size > 0 && (await this.#settled(wait)));
    late.abort();
    return this.#faults.toSorted((a, b) => a.order - b.order).map(({ fault }) => fault);
  }

  /** Skips the remaining checks. */
  drop(): void {
    this.#waiting.length = 0;
  }

  /** False after the time limit. */
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
