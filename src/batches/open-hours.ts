import type { Clock } from '../base/clock.ts';
import { type Hours, hoursAt, formatHours, shareAt } from '../core/hours.ts';
import type { Catalog } from '../core/model.ts';
import type { Waiting } from '../core/waiting.ts';

/** When lines of models run, where they do not at any time. What is in flight when the hours end may land. */
export class OpenHours {
  #catalog: Catalog;
  #time: Pick<Clock, 'now'>;

  constructor(catalog: Catalog, time: Pick<Clock, 'now'>) {
    this.#catalog = catalog;
    this.#time = time;
  }

  /** Those of a model or, for null, those that all models have in common. */
  find(model: string | null): Hours | undefined {
    if (model !== null) return this.#catalog.find(model)?.hours;
    const [first, ...others] = this.#catalog.list();
    return others.every(({ hours }) => hours === first?.hours) ? first?.hours : undefined;
  }

  /** Which share of its places lines of a model may have now, from 0 to 1. */
  share(model: string): number {
    return shareAt(this.find(model), this.#time.now());
  }

  /** Why lines of a model wait for their hours; null when they do not. */
  waiting(model: string): Waiting | null {
    const hours = this.find(model);
    if (!hours || hours.share > 0) return null;
    const { isOpen, since, until } = hoursAt(hours, this.#time.now());
    const message = `Batches of the model run in certain hours: ${formatHours(hours)}.`;
    return isOpen ? null : { reason: 'hours', message, since, until };
  }
}
