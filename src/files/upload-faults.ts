import { pluralize } from '../base/words.ts';
import { ApiError, type Fault } from '../core/errors.ts';
import { maxFaults } from '../wire/schema/validate.ts';

/** Faults of an upload: the first hundred, and the totals. */
export class UploadFaults {
  readonly #faults: Fault[] = [];
  #total = 0;
  #badLines = 0;

  get any(): boolean {
    return this.#total > 0;
  }

  /** Adds the faults of one line. */
  add(faults: readonly Fault[]): void {
    this.#badLines += 1;
    this.#total += faults.length;
    for (const fault of faults) if (this.#faults.length < maxFaults) this.#faults.push(fault);
  }

  /** Adds a fault of the whole file, before all others. */
  addFirst(fault: Fault): void {
    this.#total += 1;
    this.#faults.unshift(fault);
    this.#faults.length = Math.min(this.#faults.length, maxFaults);
  }

  /** One 422 for all faults; the message holds the first fault and the totals. */
  error(): ApiError {
    const first = this.#faults[0]!;
    const place = [first.line === undefined ? '' : `line ${first.line}`, first.param ?? ''];
    const where = place.filter((part) => part !== '').join(', ');
    const sums = `${pluralize(this.#total, 'fault')} in all, ${pluralize(this.#badLines, 'bad line')}`;
    const more = this.#total > 1 || this.#badLines > 1 ? ` (${sums})` : '';
    return new ApiError(first.code, `${where === '' ? '' : `${where}: `}${first.message}${more}`, {
      param: first.param ?? null,
      faults: this.#faults,
      status: 422,
    });
  }
}
