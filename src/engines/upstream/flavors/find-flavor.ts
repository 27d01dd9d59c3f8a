import type { Flavor } from '../../../core/flavor.ts';
import { type Fields, fieldsOf } from '../../../base/fields.ts';

/** Whom servers call the owner of their models. A proxy may call anybody so, and is left `generic`. */
const owners = new Map<unknown, Flavor>([
  ['vllm', 'vllm'],
  ['sglang', 'sglang'],
  ['llamacpp', 'llama-server'],
  ['library', 'ollama'],
  ['offpeak', 'offpeak'],
]);

/** The models that answer at a server. A process of another Offpeak lists what only its others serve, too. */
export function modelsIn({ data }: Fields): Fields[] {
  return Array.isArray(data) ? data.map(fieldsOf).filter((each) => each['batch_only'] !== true) : [];
}

/** Whether a model is among them. */
export function hasModel(fields: Fields, model: string): boolean {
  return modelsIn(fields).some(({ id }) => id === model);
}

/** What kind of server has these models (`GET /v1/models`): of the one that is used, or of any if it has another name there. */
export function flavorOf({ data }: Fields, model: string): Flavor {
  const models = Array.isArray(data) ? data.map(fieldsOf) : [];
  const used = models.find(({ id }) => id === model) ?? models[0];
  return owners.get(used?.['owned_by']) ?? 'generic';
}
