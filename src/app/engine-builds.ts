import { systemClock } from '../base/system.ts';
import type { EngineStatus, GpuChoice } from '../core/card.ts';
import type { Config } from '../core/config.ts';
import { spawnChild } from '../engines/llama/child-process.ts';
import { cardExaminer } from '../engines/llama/examine-cards.ts';
import { engineVersion } from '../engines/llama/gpu/builds.ts';
import { findCards } from '../engines/llama/gpu/find-cards.ts';
import { type InstallRequest, installBuild, removeBuilds } from '../engines/llama/gpu/install-build.ts';
import { installedBuilds } from '../engines/llama/gpu/installed-builds.ts';
import { npmInstaller } from '../engines/llama/gpu/npm.ts';
import { engineFolder } from './models.ts';

/** Builds of the embedded engine, for commands that work without a server. Failures are `StartError`s, some with a `hint`. */
export function openEngineBuilds(config: Pick<Config, 'data'>, env: Record<string, string | undefined>) {
  const folder = engineFolder(config);
  const examine = cardExaminer(spawnChild, systemClock);
  const choose = (gpu: GpuChoice) => findCards(gpu, folder, { platform: process, examine });
  return {
    install: (request: InstallRequest) =>
      installBuild(request, { folder, platform: process, install: npmInstaller(env) }),
    remove: (kind: InstallRequest['kind'] | undefined) => removeBuilds(folder, kind),
    choose,
    status: async (): Promise<EngineStatus> => ({
      version: engineVersion,
      folder,
      builds: await installedBuilds(folder),
      choice: await choose('auto'),
    }),
  };
}
