import type { CardChoice, GpuChoice } from '../../core/card.ts';
import type { Config } from '../../core/config.ts';
import { cardText } from '../shared/card-text.ts';
import type { Cli } from '../shared/cli.ts';

/** Finding about the graphics card of a model on the embedded engine. */
export interface ExaminedCard {
  model: string;
  server: 'embedded engine';
  reachable: true;
  findings: { about: 'gpu'; verdict: 'ok' | 'ours' | 'fault'; message: string }[];
}

/** Examines the cards for each model that wants one and for which a build is installed or named. */
export async function examineCards(config: Config, { env }: Pick<Cli, 'env'>): Promise<ExaminedCard[]> {
  const choices = new Map<GpuChoice, CardChoice>();
  const examined: ExaminedCard[] = [];
  for (const { id, engine } of config.models) {
    const wish = engine.kind === 'llama' ? engine.card : undefined;
    if (!wish) continue;
    const { openEngineBuilds } = await import('../../app/engine-builds.ts');
    const choice = choices.get(wish.gpu) ?? (await openEngineBuilds(config, env).choose(wish.gpu));
    choices.set(wish.gpu, choice);
    if (!choice.found && choice.why === null) continue;
    const verdict = choice.found ? 'ok' : wish.gpu === 'auto' ? 'ours' : 'fault';
    const findings = [{ about: 'gpu' as const, verdict, message: cardText(choice) } as const];
    examined.push({ model: id, server: 'embedded engine', reachable: true, findings });
  }
  return examined;
}
