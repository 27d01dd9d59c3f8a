import type { Config } from '../core/config.ts';
import type { Model } from '../core/model.ts';
import { type EngineDeps, modelServers, type ModelServers, publicModel } from './models.ts';

/** A model with its pool in this process. */
type RunningModel = ModelServers & { model: Model };

export interface UnavailableServer {
  model: string;
  server: string;
  /** Number of the model's replicas. */
  servers: number;
  message: string;
}

/** Creates the models that this process serves, by the configuration read last. */
export async function createServing(config: Config, deps: EngineDeps) {
  let served = await serve(config, []);

  function serve({ models }: Config, before: readonly RunningModel[]): Promise<RunningModel[]> {
    const made = models.map(async (next) => {
      const previous = before.find(({ config: { id } }) => id === next.id);
      const log = deps.log.child({ model: next.id });
      const servers = await modelServers(next, { ...deps, log }, previous);
      const createdAt = previous?.model.createdAt ?? deps.clock.now();
      return { ...servers, model: publicModel(next, servers.pool, createdAt) };
    });
    return Promise.all(made);
  }

  return {
    get models() {
      return served;
    },

    /**
     * Serves the models of another configuration. Replicas with unchanged settings keep their state.
     * @param taken routes requests to the new models; awaited before replicas of the remaining models are replaced
     */
    async replace(next: Config, taken: (models: RunningModel[]) => Promise<void>) {
      const models = await serve(next, served);
      await taken(models);
      const replaced = models.filter(({ replicas }) => !served.some((each) => each.replicas === replicas));
      const kept = replaced.filter(({ pool }) => served.some((each) => each.pool === pool));
      await Promise.all(kept.map(({ pool, replicas }) => pool.replaceReplicas(replicas)));
      served = models;
      return { replaced: replaced.map(({ model }) => model.id) };
    },

    /** Probes every replica and returns those that accept no requests. */
    async unavailable(): Promise<UnavailableServer[]> {
      await Promise.all(served.map(({ pool }) => pool.probe()));
      return served.flatMap(({ model: { id }, pool: { replicas } }) =>
        replicas.flatMap(({ name, waiting }) =>
          waiting ? { model: id, server: name, servers: replicas.length, message: waiting.message } : [],
        ),
      );
    },
  };
}

export type Serving = Awaited<ReturnType<typeof createServing>>;
