import { formatBytes } from '../../../../base/bytes.ts';
import type { CardChoice } from '../../../../core/card.ts';
import { processorSentence } from '../../gpu/find-cards.ts';
import type { CardOptions } from '../../protocol.ts';
import type { CardMemory } from './card-memory.ts';
import type { ContextPlan } from './memory.ts';

type Wish = Pick<CardOptions, 'layers' | 'reserve'>;

/** Memory of the chosen cards; undefined without any. */
export function cardMemory({ found }: CardChoice, options: Wish | undefined): CardMemory | undefined {
  if (!found || !options) return undefined;
  const { layers, reserve } = options;
  return { free: found.cards.map(({ free }) => free), isShared: found.isShared, layers, reserve };
}

/** Sentence about a card that is not used, or not for all wanted layers, and what would change that; null otherwise. */
export function cardNote(
  { found, why }: CardChoice,
  { placement, cardAdvice }: Pick<ContextPlan, 'placement' | 'cardAdvice'>,
  all: number,
  options: Wish | undefined,
): string | null {
  if (!options || options.layers === 0) return null;
  if (!found) return why === null ? null : processorSentence(why);
  const wanted = options.layers === 'auto' ? all : Math.min(options.layers, all);
  if (placement.layers === wanted) return null;
  const advice = cardAdvice.length > 0 ? ` This would fit: ${cardAdvice.join(', or ')}.` : '';
  const rest = `${formatBytes(options.reserve)} are left to others (vram_reserve)`;
  const memory = found.cards.map(({ name, free }) => `${name} has ${formatBytes(free)} free`).join(', ');
  if (placement.layers === 0) {
    const sentence = processorSentence(`no layer fits there: ${memory}, of which ${rest}`);
    return sentence + advice;
  }
  const what = wanted === all ? `${all} layers` : `${wanted} wanted layers`;
  return `${placement.layers} of the ${what} fit on the graphics card, and the processor has the others: ${memory}, of which ${rest}.${advice}`;
}
