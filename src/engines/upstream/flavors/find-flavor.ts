import { type Fields, fieldsOf } from '../../../base/fields.ts';
import type { Flavor } from '../../../core/flavor.ts';

/** Flavors by the owner of listed models. Proxies use any name, and stay `generic`. */
const owners = new Map<unknown, Flavor>([
  ['vllm', 'vllm'],
  ['sglang', 'sglang'],
  ['llamacpp', 'llama-server'],
  ['library', 'ollama'],
  ['offpeak', 'offpeak'],
]);

/** Models that the server itself answers with. Another Offpeak also lists models that only its peers serve. */
export function modelsIn({ data }: Fields): Fields[] {
  return Array.isArray(data) ? data.map(fieldsOf).filter((each) => each['batch_only'] !== true) : [];
}

export function hasModel(fields: Fields, model: string): boolean {
  return modelsIn(fields).some(({ id }) => id === model);
}

/** Flavor of a server by its reply to `GET /v1/models`, preferring the entry of the used model. */
export function flavorOf({ data }: Fields, model: string): Flavor {
  const models = Array.isArray(data) ? data.map(fieldsOf) : [];
  const used = models.find(({ id }) => id === model) ?? models[0];
  return owners.get(used?.['owned_by']) ?? 'generic';
}
