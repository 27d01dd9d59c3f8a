import type { EngineCall } from '../engines.ts';
import type { SentRequest } from './concurrency/measurement.ts';

/** Org of a call; calls without one count as one org. */
export function groupOf({ org = '' }: EngineCall): string {
  return org;
}

export function weightOf({ weight = 1 }: EngineCall): number {
  return weight;
}

/** Requests in flight by priority and org: who holds how many slots of a pool. */
export class Holdings {
  readonly #calls = new Map<SentRequest, EngineCall>();
  readonly #held = { interactive: new Map<string, number>(), batch: new Map<string, number>() };
  #lines = 0;
  #owed: () => number = () => 0;

  get owed(): number {
    return this.#owed();
  }

  /** @param owed number of slots that batch lines get even while interactive requests wait */
  guaranteeBatches(owed: () => number): void {
    this.#owed = owed;
  }

  /** True where the next request of this priority does not give way to interactive ones. */
  isOwed(priority: EngineCall['priority']): boolean {
    return priority === 'batch' && this.#lines < this.#owed();
  }

  /** Slots of an org, divided by its weight. */
  load(call: EngineCall): number {
    return (this.#held[call.priority].get(groupOf(call)) ?? 0) / weightOf(call);
  }

  add(sent: SentRequest, call: EngineCall): void {
    this.#calls.set(sent, call);
    this.#count(call, 1);
  }

  /** Called when the server is done with a request, however it ended. */
  remove(sent: SentRequest): void {
    const call = this.#calls.get(sent);
    if (!call) return;
    this.#calls.delete(sent);
    this.#count(call, -1);
  }

  #count(call: EngineCall, by: 1 | -1): void {
    const held = this.#held[call.priority];
    const group = groupOf(call);
    const count = (held.get(group) ?? 0) + by;
    if (count > 0) held.set(group, count);
    else held.delete(group);
    if (call.priority === 'batch') this.#lines += by;
  }
}
