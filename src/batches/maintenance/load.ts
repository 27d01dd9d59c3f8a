import type { WorkerLoad } from '../../core/worker-load.ts';
import type { BatchContext } from '../batch-context.ts';

/** Load of this process, which its heartbeat reports to the peers. */
export function currentLoad({ catalog, capacity }: Pick<BatchContext, 'catalog' | 'capacity'>): WorkerLoad {
  const served = catalog.list().flatMap(({ id, aliases }) => [id, ...aliases].map((name) => ({ id, name })));
  const waits = served.flatMap(({ id, name }) => {
    const cause = capacity.waiting(id);
    return cause ? [[name, cause] as const] : [];
  });
  return {
    interactive: capacity.interactiveLoad(),
    serves: served.map(({ name }) => name),
    models: catalog.list(),
    ...(waits.length > 0 && { waits: Object.fromEntries(waits) }),
  };
}
