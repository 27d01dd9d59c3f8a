import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../base/log.ts';
import { words } from '../base/words.ts';
import { ConfigError, formatProblem } from '../config/source-value.ts';
import type { Config } from '../core/config.ts';
import { createStartPulls } from '../engines/llama/start-pulls.ts';
import { secretsOf } from './log.ts';
import { remoteSources } from './models.ts';
import type { Serving } from './serving.ts';

/** Keys that take effect only at a start. */
const unreadKeys = [
  ...words(
    'server console data database postgres files modelFolder hub limits batch surfaces strictFields metrics tracing egress',
  ),
  ...words(
    'role quarantineMs drainDelayMs drainMs usageTag logLevel apiKey adminKey secretsKey acceptedSecretsKeys',
  ),
] satisfies (keyof Config)[];

export interface ReloadDeps {
  log: Log;
  /** Hides further secrets in the log. */
  hide: (secrets: string[]) => void;
  modelFiles: Parameters<typeof createStartPulls>[0];
  serving: Serving;
  /** Routes requests to other models. */
  replaceModels: Parameters<Serving['replace']>[1];
}

/**
 * Applies the models of a configuration that is read again, one after the other. An invalid configuration is logged and changes nothing.
 * @param config as it was read at the start
 */
export function createReload(
  config: Config,
  { log, hide, modelFiles, serving, replaceModels }: ReloadDeps,
): (read: () => Config) => Promise<void> {
  let reloading: Promise<void> = Promise.resolve();

  async function reload(read: () => Config): Promise<void> {
    const next = read();
    hide(secretsOf(next));
    await createStartPulls(modelFiles, remoteSources(next), log).start();
    const { replaced } = await serving.replace(next, replaceModels);
    const models = next.models.map(({ id }) => id);
    log.info({ models, replaced }, 'The configuration was read again.');
    const pending = unreadKeys.filter((key) => !isDeepStrictEqual(next[key], config[key]));
    if (pending.length > 0)
      log.warn({ keys: pending }, 'Changes to these keys take effect at the next start.');
  }

  return (read) => {
    reloading = reloading
      .then(() => reload(read))
      .catch((error: unknown) => {
        const problems = error instanceof ConfigError ? error.problems.map(formatProblem) : [String(error)];
        log.error({ problems }, 'The new configuration is invalid; the previous one stays in effect.');
      });
    return reloading;
  };
}
