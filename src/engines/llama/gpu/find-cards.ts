import type { CardChoice, GpuChoice, GpuKind, InstalledBuild } from '../../../core/card.ts';
import { type Platform, engineVersion, kindNames, platformName, usableKinds } from './builds.ts';
import { installedBuilds } from './installed-builds.ts';

/** Cards that a build can use, examined in a process of its own, because drivers crash and hang. */
export type ExamineCards = (kind: GpuKind, folder: string) => Promise<CardChoice>;

export interface FindDeps {
  platform: Platform;
  examine: ExamineCards;
}

const none: CardChoice = { found: null, why: null };

/** Cards of the best build that works. A reason for using the processor is the end of a sentence, without a full stop. */
export async function findCards(
  gpu: GpuChoice,
  folder: string,
  { platform, examine }: FindDeps,
): Promise<CardChoice> {
  if (gpu === 'off') return none;
  const usable = usableKinds(platform);
  if (gpu !== 'auto' && !usable.includes(gpu)) return { found: null, why: wrongSystem(gpu, platform) };
  const builds = await installedBuilds(folder);
  const reasons: string[] = [];
  for (const kind of gpu === 'auto' ? usable : [gpu]) {
    const obstacle = buildObstacle(kind, builds, gpu !== 'auto');
    if (obstacle === '') continue;
    const { found, why } = obstacle === null ? await examine(kind, folder) : { found: null, why: obstacle };
    if (found) return { found, why: null };
    if (why !== null) reasons.push(`${kindNames[kind]}: ${why}`);
  }
  return reasons.length > 0 ? { found: null, why: reasons.join('; ') } : none;
}

/** Reason why a build cannot be tried; null if it can, empty if it is missing and not configured. */
function buildObstacle(kind: GpuKind, builds: readonly InstalledBuild[], isWanted: boolean): string | null {
  if (kind === 'metal') return null;
  const own = builds.filter((build) => build.kind === kind);
  if (own.some(({ state }) => state === 'ready')) return null;
  const install = `run offpeak engine install ${kind}`;
  const [other] = own.filter(({ state }) => state === 'other version');
  if (other)
    return `the installed build is of version ${other.version}, and this Offpeak needs ${engineVersion}: ${install}`;
  if (own.length > 0) return `the installed build is damaged: ${install}`;
  return isWanted ? `the build is not installed: ${install}` : '';
}

function wrongSystem(kind: GpuKind, platform: Platform): string {
  const [own] = usableKinds(platform);
  const there = own === undefined ? 'has no builds for cards' : `uses ${kindNames[own]}`;
  return `${kindNames[kind]} does not work on ${platformName(platform)}, which ${there}`;
}

/** The first sentence about a model that runs without the card. */
export function processorSentence(why: string): string {
  return `The model runs on the processor, not on a graphics card (${why}).`;
}
