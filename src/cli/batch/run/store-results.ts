import { rmSync } from 'node:fs';
import { basename } from 'node:path';
import type { Cli } from '../../shared/cli.ts';
import { CliError, exitCodes } from '../../shared/exit-codes.ts';
import { interruptible } from '../../shared/signals.ts';
import { removeObject, storeFile } from '../../storage/store-object.ts';
import { errorsPath, type Output } from './output.ts';
import type { ResultPaths, Results } from './results.ts';

/**
 * Results that become objects when they are complete, if the output of the run is one. Until then they are files on this machine,
 * so an interrupted run leaves no object.
 */
export function storeResults(cli: Cli, output: Output | null, results: Results): Results {
  if (output === null || output.url === null) return results;
  const { url, hasErrors } = output;
  const folder = url.slice(0, url.lastIndexOf('/') + 1);
  let stored: string[] = [];

  const store = async ({ output: main, errors, skipped = null }: ResultPaths, signal: AbortSignal) => {
    // The results come last: where they are, everything is.
    const files = [errors, skipped, main].filter((path) => path !== null);
    for (const path of files) await storeFile(cli, folder + basename(path), path, signal);
    // A run without results or without errors leaves none of an earlier run.
    if (main === null) await removeObject(cli, url);
    if (hasErrors && errors === null) await removeObject(cli, errorsPath(url));
    return files;
  };

  return {
    ...results,
    async finish() {
      const paths = await results.finish();
      const hint = 'Run the same command again to store the results.';
      const stopped = new CliError('Stopped.', hint, exitCodes.interrupted);
      stored = await interruptible(cli, stopped, (signal) => store(paths, signal));
      const urlOf = (path: string | null) => path && folder + basename(path);
      return {
        output: urlOf(paths.output),
        errors: urlOf(paths.errors),
        skipped: urlOf(paths.skipped ?? null),
      };
    },
    async close() {
      await results.close();
      for (const path of stored) rmSync(path, { force: true });
    },
  };
}
