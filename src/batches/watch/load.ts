import type { WorkerLoad } from '../../core/worker-load.ts';
import type { Inference } from '../../inference/inference.ts';

/** What this process tells the others. */
export function loadOf({
  catalog,
  interactiveLoad,
  waiting,
}: Pick<Inference, 'catalog' | 'interactiveLoad' | 'waiting'>): WorkerLoad {
  const served = catalog.list().flatMap(({ id, aliases }) => [id, ...aliases].map((name) => ({ id, name })));
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
