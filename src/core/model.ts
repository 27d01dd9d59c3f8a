import type { Hours } from './hours.ts';
import type { Prices } from './price.ts';

/** Completions of raw prompts are what some engines can do that chat. */
export type Serves = 'chat' | 'embeddings' | 'completions';

/** What a message to a model may hold beside text. */
export const modelInputs = ['image', 'audio', 'file'] as const;
export type ModelInput = (typeof modelInputs)[number];

/** A model as clients see it. Which engine runs it is the business of `generate`. */
export interface Model {
  id: string;
  aliases: string[];
  serves: readonly Serves[];
  prices: Prices;
  createdAt: number;
  /** Longest prompt plus completion in tokens, when known. */
  contextLength?: number | null;
  /** Ids of models that answer in its place where it takes nothing. */
  fallbacks?: readonly string[] | undefined;
  /** When its batches run; at any time if absent. */
  hours?: Hours | undefined;
  /** Its server fetches images that a request names by an address. */
  imageUrls?: boolean | undefined;
  /** They answer lines of batches, too, once it has taken nothing for so long; never if absent. */
  batchFallbacksAfterMs?: number | undefined;
}

/**
 * The models of this server. `find` takes an id or an alias; whether the caller may use it, and whether it serves
 * the endpoint, is decided by `modelFor` in `core/model-access.ts`, so that a batch line and a request agree.
 */
export interface Catalog {
  list(): readonly Model[];
  find(name: string): Model | undefined;
  /** The id that a name has now: that of a model which left is its own. */
  idOf: (name: string) => string;
}

/** The models of all processes: whoever takes a batch need not be one that runs it. */
export interface SharedCatalog extends Pick<Catalog, 'find' | 'idOf'> {
  /**
   * Asks what the other processes serve now, at most once a second: a model that is not known may be that of one which has
   * only just started. @throws where the database is away
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
