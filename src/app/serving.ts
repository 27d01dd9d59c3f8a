import type { Config } from '../core/config.ts';
import type { Model } from '../core/model.ts';
import { type EngineDeps, modelServers, type ModelServers, publicModel } from './models.ts';

/** A model, and what answers for it here. */
type Served = ModelServers & { model: Model };

export interface ServerAway {
  model: string;
  server: string;
  /** How many the model has. */
  servers: number;
  message: string;
}

/** The models that this process serves, as the configuration that was read last says. */
export interface Serving {
  readonly models: Served[];
  /**
   * Serves those of another configuration from now on. Servers that are as before keep what was learned of them.
   *
   * @param taken has them asked for before the servers of those that stay are replaced
   */
  replace(next: Config, taken: (models: Served[]) => Promise<void>): Promise<{ replaced: string[] }>;
  /** Asks every server how it is, and tells which of them take no requests. */
  away(): Promise<ServerAway[]>;
}

export async function createServing(config: Config, parts: EngineDeps): Promise<Serving> {
  let served = await serve(config, []);

  function serve({ models }: Config, before: readonly Served[]): Promise<Served[]> {
    const made = models.map(async (asked) => {
      const known = before.find(({ config: { id } }) => id === asked.id);
      const servers = await modelServers(
        asked,
        { ...parts, log: parts.log.child({ model: asked.id }) },
        known,
      );
      const createdAt = known?.model.createdAt ?? parts.clock.now();
      return { ...servers, model: publicModel(asked, servers.pool, createdAt) };
    });
    return Promise.all(made);
  }

  return {
    get models() {
      return served;
    },

    async replace(next, taken) {
      const models = await serve(next, served);
      await taken(models);
      const replaced = models.filter(({ replicas }) => !served.some((each) => each.replicas === replicas));
      const known = replaced.filter(({ pool }) => served.some((each) => each.pool === pool));
      await Promise.all(known.map(({ pool, replicas }) => pool.replaceReplicas(replicas)));
      served = models;
      return { replaced: replaced.map(({ model }) => model.id) };
    },

    async away() {
      await Promise.all(served.map(({ pool }) => pool.probe()));
      return served.flatMap(({ model: { id }, pool: { replicas } }) =>
        replicas.flatMap(({ name, waiting }) =>
          waiting ? { model: id, server: name, servers: replicas.length, message: waiting.message } : [],
        ),
      );
    },
  };
}
