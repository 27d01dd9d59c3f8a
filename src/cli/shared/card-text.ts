import { formatBytes } from '../../base/bytes.ts';
import { sum } from '../../base/sum.ts';
import type { CardChoice } from '../../core/card.ts';

/** The cards as `vulkan: NVIDIA GeForce RTX 4090, 23.1 GB of 25.8 GB free`, or the reason for the processor. */
export function cardText({ found, why }: CardChoice): string {
  if (!found) return why === null ? 'the processor' : `the processor, not a graphics card (${why})`;
  const { kind, cards, total, isShared } = found;
  const names = cards.map(({ name }) => name).join(', ');
  const free = formatBytes(sum(cards.map((card) => card.free)));
  return `${kind}: ${names}, ${free} of ${formatBytes(total)} free${isShared ? ', shared with the processor' : ''}`;
}
