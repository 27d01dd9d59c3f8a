import type { Hours } from './hours.ts';
import type { PriceList } from './price.ts';

/** Kinds of requests that have a path of their own and are answered in one piece (`wire/direct/direct-formats.ts`). */
export const directKinds = ['embeddings', 'rerank', 'score', 'moderations'] as const;
export type DirectKind = (typeof directKinds)[number];

/** `completions`: some chat engines also complete raw prompts. */
export type Serves = 'chat' | 'completions' | DirectKind;

/** Inputs other than text. */
export const modelInputs = ['image', 'audio', 'file'] as const;
export type ModelInput = (typeof modelInputs)[number];

/** Model as clients see it. `inference` knows its engine. */
export interface Model {
  id: string;
  aliases: string[];
  serves: readonly Serves[];
  prices: PriceList;
  createdAt: number;
  /** Maximum tokens of prompt and completion, if known. */
  contextLength?: number | null;
  /** Ids of models that answer while this one accepts no requests. */
  fallbacks?: readonly string[] | undefined;
  /** Hours in which batches run; unrestricted if absent. */
  hours?: Hours | undefined;
  /** True if the server fetches images by URL. */
  imageUrls?: boolean | undefined;
  /** Request fields that the configuration of its servers names in addition to the known ones. */
  extraFields?: readonly string[] | undefined;
  /** Fallbacks also answer batch lines after the model has accepted nothing for this long; never if absent. */
  batchFallbacksAfterMs?: number | undefined;
}

/** Models of this server, by id and alias. `modelFor` in `core/model-access.ts` checks access for requests and batch lines alike. */
export interface Catalog {
  list(): readonly Model[];
  find(name: string): Model | undefined;
  /** Current id of a name; an unknown name is its own id. */
  idOf: (name: string) => string;
}

/** Models of all processes: a process may accept a batch that only others can run. */
export interface SharedCatalog extends Pick<Catalog, 'find' | 'idOf'> {
  /**
   * Reads the models of the other processes, at most once a second: an unknown model may belong to one that just started.
   * @throws if the database is unavailable
   */
  refresh(): Promise<void>;
}

export function createCatalog(models: readonly Model[]): Catalog {
  const byName = new Map<string, Model>();
  for (const model of models) for (const name of [model.id, ...model.aliases]) byName.set(name, model);
  return {
    list: () => models,
    find: (name) => byName.get(name),
    idOf: (name) => byName.get(name)?.id ?? name,
  };
}
