import type { WaitingCause } from '../core/waiting.ts';
import type { Generate } from '../generate/generate.ts';
import type { WorkerLoad } from '../store/contract/workers.ts';

/** What the other processes alive told with their last heartbeats, beside what this one can do itself. */
export class Fleet {
  #generate: Pick<Generate, 'catalog' | 'interactiveLoad' | 'waiting'>;
  #others: readonly WorkerLoad[] = [];

  constructor(generate: Pick<Generate, 'catalog' | 'interactiveLoad' | 'waiting'>) {
    this.#generate = generate;
  }

  /** What this process tells the others. */
  load(): WorkerLoad {
    const { catalog, interactiveLoad, waiting } = this.#generate;
    const served = catalog
      .list()
      .flatMap(({ id, aliases }) => [id, ...aliases].map((name) => ({ id, name })));
    const waits = served.flatMap(({ id, name }) => {
      const cause = waiting(id);
      return cause ? [[name, cause] as const] : [];
    });
    return {
      interactive: interactiveLoad(),
      serves: served.map(({ name }) => name),
      models: catalog.list(),
      ...(waits.length > 0 && { waits: Object.fromEntries(waits) }),
    };
  }

  learn(others: readonly WorkerLoad[]): void {
    this.#others = others;
  }

  /** Whether somebody serves a model of this name; who does not say what he serves may serve any. */
  serves(name: string): boolean {
    return this.#isHere(name) || this.othersServe(name);
  }

  othersServe(name: string): boolean {
    return this.#thatServe(name).length > 0;
  }

  /** Whether this process cannot send lines of a model at present, and another one can. */
  isElsewhere(name: string): boolean {
    if (this.#isHere(name) && this.#waiting(name) === null) return false;
    return this.#thatServe(name).some(({ waits = {} }) => !Object.hasOwn(waits, name));
  }

  /** Why nobody sends requests of a model; null while somebody does, and where nobody serves it. */
  waiting(name: string): WaitingCause | null {
    if (this.isElsewhere(name)) return null;
    if (this.#isHere(name)) return this.#waiting(name);
    const [{ waits = {} } = {}] = this.#thatServe(name);
    return Object.hasOwn(waits, name) ? waits[name]! : null;
  }

  #isHere(name: string): boolean {
    return this.#generate.catalog.find(name) !== undefined;
  }

  #waiting(name: string): WaitingCause | null {
    return this.#generate.waiting(this.#generate.catalog.idOf(name));
  }

  #thatServe(name: string): WorkerLoad[] {
    return this.#others.filter(({ serves }) => serves?.includes(name) ?? true);
  }
}
