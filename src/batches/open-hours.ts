import type { Clock } from '../base/clock.ts';
import { type Hours, hoursAt, formatHours, shareAt } from '../core/hours.ts';
import type { Catalog } from '../core/model.ts';
import type { Waiting } from '../core/waiting.ts';

/** Hours in which models run batch lines. Lines in flight at the end of the hours may finish. */
export class OpenHours {
  #catalog: Catalog;
  #time: Pick<Clock, 'now'>;

  constructor(catalog: Catalog, time: Pick<Clock, 'now'>) {
    this.#catalog = catalog;
    this.#time = time;
  }

  /** Hours of a model; for null, the hours that all models have in common. */
  find(model: string | null): Hours | undefined {
    if (model !== null) return this.#catalog.find(model)?.hours;
    const [first, ...others] = this.#catalog.list();
    return others.every(({ hours }) => hours === first?.hours) ? first?.hours : undefined;
  }

  /** Share of the slots that lines of a model may use now, from 0 to 1. */
  share(model: string): number {
    return shareAt(this.find(model), this.#time.now());
  }

  /** Reason why lines of a model wait; null within its hours. */
  waiting(model: string): Waiting | null {
    const hours = this.find(model);
    if (!hours || hours.share > 0) return null;
    const { isOpen, since, until } = hoursAt(hours, this.#time.now());
    const message = `Batches of this model run only during its hours: ${formatHours(hours)}.`;
    return isOpen ? null : { reason: 'hours', message, since, until };
  }
}
