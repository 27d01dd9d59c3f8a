import { hash } from 'node:crypto';

/** Id of a replica, the same in every process and after every start: it depends on its model and its name alone. */
export function replicaId(model: string, name: string): string {
  return `rep_${hash('sha256', JSON.stringify([model, name])).slice(0, 32)}`;
}
